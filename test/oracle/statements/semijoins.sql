-- EXISTS, IN and their negations where the looked-up side is the larger one: its rows stream past a table of the other's.
CREATE TABLE small (id int, k int, t text, v int);
INSERT INTO small SELECT i, CASE WHEN i % 7 = 0 THEN NULL ELSE i % 50 END, 'n' || i % 40, i % 3 FROM generate_series(1, 300) g(i);
CREATE TABLE large (k int, t text, v int);
INSERT INTO large SELECT CASE WHEN i % 11 = 0 THEN NULL ELSE i % 90 + 20 END, 'n' || i % 30 + 15, i % 5 FROM generate_series(1, 20000) g(i);
SELECT id, k, t FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k) ORDER BY id;
SELECT id, k, t FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k) ORDER BY id;
SELECT id FROM small WHERE k IN (SELECT k FROM large WHERE v > 2) ORDER BY id;
SELECT id FROM small WHERE k NOT IN (SELECT k FROM large WHERE v > 2) ORDER BY id;
SELECT id FROM small WHERE k NOT IN (SELECT k FROM large WHERE v > 2 AND k IS NOT NULL) ORDER BY id;
-- a second condition that is no equality
SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v <> s.v) ORDER BY id;
SELECT id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v < s.v) ORDER BY id;
SELECT id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v > s.v + 3) ORDER BY id;
SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v * s.v > l.k) ORDER BY id;
-- texts, several keys, expressions as keys
SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.t = s.t) ORDER BY id;
SELECT id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.t = s.t) ORDER BY id;
SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.t = s.t AND l.k = s.k AND l.v = s.v) ORDER BY id;
SELECT id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.t = s.t AND l.k = s.k AND l.v = s.v) ORDER BY id;
SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k + 1 = s.k * 2) ORDER BY id;
SELECT id FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k + 1 = s.k * 2) ORDER BY id;
-- two in one query, aggregates above, limits, empty sides
SELECT v, count(*), sum(id) FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v <> s.v) AND NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v > s.v + 2) GROUP BY v ORDER BY v;
SELECT count(*) FROM (SELECT id FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k) LIMIT 10) q;
SELECT id FROM small s WHERE id < 0 AND EXISTS (SELECT 1 FROM large l WHERE l.k = s.k);
SELECT count(*) FROM small s WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v > 100);
SELECT count(*) FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v > 100);
SELECT s.id, b.id FROM small s JOIN small b ON b.id = s.id + 1 WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v <> b.v) ORDER BY 1;
DELETE FROM small s WHERE NOT EXISTS (SELECT 1 FROM large l WHERE l.k = s.k);
SELECT count(*), sum(id) FROM small;
UPDATE small s SET v = v + 10 WHERE EXISTS (SELECT 1 FROM large l WHERE l.k = s.k AND l.v > 3);
SELECT v, count(*) FROM small GROUP BY v ORDER BY v;
-- texts of one table met in another: their codes differ
CREATE TABLE words (w text);
INSERT INTO words SELECT 'w' || i FROM generate_series(1, 40) g(i);
CREATE TABLE few (w text, v int);
INSERT INTO few VALUES ('w40', 1);
SELECT w, v FROM few JOIN words USING (w);
SELECT few.w, v FROM words a JOIN few ON a.w = few.w RIGHT JOIN few b ON a.w = b.w WHERE b.v < 2;
SELECT count(*) FROM few WHERE w IN (SELECT w FROM words WHERE w > 'w35');
SELECT count(*) FROM words WHERE w IN (SELECT w FROM few);
SELECT min(w), max(w), min(nullif(w, 'w1')) FROM (SELECT w FROM words UNION ALL SELECT '') x;
