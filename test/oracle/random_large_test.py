"""Random queries over tables of many batches and segments (test/random/gen_large.py) on tcudb and PostgreSQL 15.

usage: random_large_test.py [--seed N] [--seeds N] [--queries N]   see random_test.py
"""
import random_test

random_test.main(large=True, seeds=2)
