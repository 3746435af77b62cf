-- unistr, normalize, IS NORMALIZED.
select unistr('\0441\043B\043E\043D'), unistr('d\u0061t\+000061'), unistr('d!0061\\x'), unistr('\U0001F600'), unistr('\D83D\DE00'), unistr('é\00e9');
select unistr('wrong: \db99');
select unistr('wrong: \db99\0061');
select unistr('wrong: \+00db99\+000061');
select unistr('wrong: \+2FFFFF');
select unistr('wrong: \udb99\u0061');
select unistr('wrong: \xyz');
select unistr('wrong: \0000');
select unistr('a\d83dx');
select normalize('äöü'), length(normalize(U&'a\0308bc')), normalize(U&'\FB01', NFKC), length(normalize('ä', NFD)), normalize('ﬁ', nfkd);
select 'ä' is normalized, U&'a\0308' is nfc normalized, U&'a\0308' is not nfd normalized, 'abc' is nfkd normalized;
select normalize('abc', 'def');
select normalize(null), unistr(null), normalize('ẛ̣', NFKC), normalize('각'), normalize('각', NFD);
