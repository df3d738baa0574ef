import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes payments with Apache's own Java client: brokers, topic, first id, how many. */
public class WritePayments {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        int from = Integer.parseInt(args[2]);
        int n = Integer.parseInt(args[3]);
        Properties p = new Properties();
        p.put("bootstrap.servers", args[0]);
        p.put("linger.ms", "20");
        Random random = new Random(from);
        AtomicLong failed = new AtomicLong();
        try (var producer = new KafkaProducer<>(p, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int i = from; i < from + n; i++) {
                // Every fifth has no key, some have an empty one.
                byte[] key = i % 5 == 0 ? null : i % 97 == 0 ? new byte[0] : bytes("account-" + random.nextInt(2000));
                var record = new ProducerRecord<byte[], byte[]>(topic, null, key, value(i, random));
                record.headers().add("source", bytes("java"));
                record.headers().add("hop", bytes("edge"));
                record.headers().add("hop", bytes("core")); // repeated on purpose
                record.headers().add("note", i % 3 == 0 ? null : new byte[0]);
                producer.send(record, (meta, error) -> { if (error != null) failed.incrementAndGet(); });
            }
        }
        System.out.println("java wrote " + n + " payments, failed " + failed.get());
        System.exit(failed.get() == 0 ? 0 : 1);
    }

    static byte[] value(int i, Random random) {
        if (i % 200 == 7) return null;         // a tombstone: cancelled
        if (i % 500 == 11) return new byte[0]; // nothing at all
        if (i % 700 == 13) return bytes("{\"id\":\"pay-" + i + "\",\"amount_cents\":");
        String currency = i % 400 == 17 ? "XAU" : i % 2 == 0 ? "EUR" : "USD";
        int memo = i % 1000 == 19 ? random.nextInt(900_000) : random.nextInt(200);
        return bytes("{\"id\":\"pay-" + i + "\",\"amount_cents\":" + (1 + random.nextInt(100_000))
                + ",\"currency\":\"" + currency + "\",\"memo\":\"" + "m".repeat(memo) + "\"}");
    }

    static byte[] bytes(String s) {
        return s.getBytes(StandardCharsets.UTF_8);
    }
}
