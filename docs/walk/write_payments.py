"""Writes payments with confluent-kafka for Python: brokers, topic, first id, how many."""

import json
import random
import sys

from confluent_kafka import Producer


def value(i, rnd):
    if i % 200 == 7:
        return None  # a tombstone: cancelled
    if i % 500 == 11:
        return b""  # nothing at all
    if i % 700 == 13:
        return b'{"id": "pay-%d", "amount_cents": ' % i
    payment = {
        "id": f"pay-{i}",
        # A partner that writes amounts as text, now and then.
        "amount_cents": str(rnd.randint(1, 100_000)) if i % 300 == 23 else rnd.randint(1, 100_000),
        "currency": "BRL" if i % 400 == 17 else ("EUR" if i % 2 else "GBP"),
        "memo": "é" * (rnd.randrange(450_000) if i % 1000 == 19 else rnd.randrange(100)),
    }
    return json.dumps(payment, ensure_ascii=False).encode()


def main():
    brokers, topic, first, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rnd = random.Random(first)
    failed = []
    producer = Producer({"bootstrap.servers": brokers, "linger.ms": 20, "queue.buffering.max.kbytes": 262144})

    def report(err, _):
        if err is not None:
            failed.append(err)

    for i in range(first, first + n):
        key = None if i % 5 == 0 else f"account-{rnd.randrange(2000)}".encode()
        headers = [("source", b"python"), ("hop", b"edge"), ("hop", b"core"), ("note", None if i % 3 == 0 else b"")]
        while True:
            try:
                producer.produce(topic, key=key, value=value(i, rnd), headers=headers, on_delivery=report)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()
    print(f"python wrote {n} payments, failed {len(failed)}")
    sys.exit(1 if failed else 0)


main()
