import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/**
 * Samples the stacks of Spark's threads from inside its process: one line for each stack that was
 * seen, with the number of times. Compiled by Janino, hence raw types.
 */
public class StackSampler implements Runnable {

    private final long interval;
    private final Map seen = new HashMap();
    private volatile boolean over;
    private final Thread thread = new Thread(this, "stack-sampler");

    public StackSampler(long interval) {
        this.interval = interval;
        thread.setDaemon(true);
        thread.start();
    }

    public void run() {
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        try {
            for (int round = 0; !over; round++) {
                sample(bean.getThreadInfo(watched(), 400), round);
                Thread.sleep(interval);
            }
        } catch (InterruptedException stop) {
            return;
        }
    }

    /** py4j's threads, which execute our statements, and those of Spark's tasks. */
    private long[] watched() {
        ThreadGroup group = Thread.currentThread().getThreadGroup();
        while (group.getParent() != null) {
            group = group.getParent();
        }
        Thread[] all = new Thread[group.activeCount() * 2 + 16];
        int count = group.enumerate(all, true);
        long[] found = new long[count];
        int kept = 0;
        for (int i = 0; i < count; i++) {
            String name = all[i].getName();
            if (name.startsWith("Thread-") || name.startsWith("Executor task")) {
                found[kept++] = all[i].getId();
            }
        }
        long[] cut = new long[kept];
        System.arraycopy(found, 0, cut, 0, kept);
        return cut;
    }

    private synchronized void sample(ThreadInfo[] infos, int round) {
        StringBuilder active = new StringBuilder();
        for (int i = 0; i < infos.length; i++) {
            if (infos[i] == null) {
                continue;
            }
            StackTraceElement[] stack = infos[i].getStackTrace();
            StringBuilder text = new StringBuilder(infos[i].getThreadName().substring(0, 4));
            boolean works = false;
            for (int k = 0; k < stack.length; k++) {
                String of = stack[k].getClassName();
                works = works || of.startsWith("org.apache.spark.") || of.startsWith("py4j.reflection");
                text.append(' ').append(of).append('.').append(stack[k].getMethodName());
            }
            if (works) {
                add(text.toString());
                active.append(text.charAt(0));
            }
        }
        add("= " + (active.indexOf("T") >= 0 ? "T" : active.length() > 0 ? "E" : "-"));
    }

    private void add(String key) {
        Object before = seen.get(key);
        seen.put(key, Integer.valueOf(before == null ? 1 : ((Integer) before).intValue() + 1));
    }

    /** All that was seen; nothing is sampled any more. */
    public String stop() throws InterruptedException {
        over = true;
        thread.join();
        StringBuilder text = new StringBuilder();
        for (Iterator keys = seen.keySet().iterator(); keys.hasNext(); ) {
            Object key = keys.next();
            text.append(seen.get(key)).append(' ').append(key).append('\n');
        }
        return text.toString();
    }
}
