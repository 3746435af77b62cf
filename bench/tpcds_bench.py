"""TPC-DS's 99 queries, tcudb against DuckDB by turns and on the same threads.

Data and queries come from an old DuckDB wheel that bundled TPC's generators (bench/tpc_data.py), the peer is the present
one. The scale is BENCH_DS_SCALE (default 0.5). "first" is a query's first run after the load, the other columns the best of
BENCH_RUNS more; with BENCH_PROCESSORS=1 seconds of processors. Answers are compared: numbers to 12 digits, since DuckDB's avg
is a double.

usage: tpcds_bench.py [QUERY...]
"""
import os
import sys

import tpc_both

sys.exit(tpc_both.main("tpcds", "TPC-DS", os.environ.get("BENCH_DS_SCALE", "0.5"), sys.argv[1:]))
