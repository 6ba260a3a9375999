"""Keys go to the reduce tasks that we predict, by Hadoop's own partitioner."""

import subprocess

from reference.hadoop_jobs import hash_key

from mr_elm.rows.wire import make_key

ASK = """
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.lib.partition.HashPartitioner;

class Ask {
    public static void main(String[] keys) {
        for (String key : keys)
            for (int n = 1; n < 60; n++)
                System.out.println(new HashPartitioner<Text, Text>().getPartition(new Text(key), new Text(), n));
    }
}
"""


def test_hadoop_deals_keys_out_as_predicted(cluster, tmp_path):
    keys = [make_key('gram', i, j) for i in range(4) for j in range(i, 12, 5)] + [make_key('sum', 'a b', -1), '', 'q']
    (tmp_path / 'Ask.java').write_text(ASK)
    command = ['java', '-cp', f'{cluster.home}/lib/*', tmp_path / 'Ask.java', *keys]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert list(map(int, done.stdout.split())) == [hash_key(key) % n for key in keys for n in range(1, 60)]
