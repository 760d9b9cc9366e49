package org.dbt.tapestry;

import io.delta.storage.HDFSLogStore;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.CopyOption;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.OpenOption;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;

/**
 * Writes the log of Delta tables on a local disk. A commit is put in place by link(2), which fails
 * where the file is there: one of two processes wins. Hadoop looks whether the file is there and
 * then renames over it, and starts ten programs (readlink, chmod) on its way.
 */
public class LinkLogStore extends HDFSLogStore {

    public LinkLogStore(Configuration conf) {
        super(conf);
    }

    // Raw types: this is compiled by Janino, which knows no bridge methods for generic ones.
    public void write(Path path, Iterator actions, Boolean overwrite, Configuration conf)
            throws IOException {
        List lines = new ArrayList();
        while (actions.hasNext()) {
            lines.add(actions.next());
        }
        if (!"file".equals(path.toUri().getScheme()) || !put(path, lines, overwrite.booleanValue())) {
            super.write(path, lines.iterator(), overwrite, conf);
        }
    }

    /** Put the lines into place in one step; false where the disk cannot do it. */
    private boolean put(Path path, List lines, boolean overwrite) throws IOException {
        java.nio.file.Path target = Paths.get(path.toUri().getPath(), new String[0]);
        java.nio.file.Path partial =
                target.resolveSibling("." + path.getName() + "." + UUID.randomUUID() + ".tmp");
        try {
            BufferedWriter writer =
                    Files.newBufferedWriter(partial, StandardCharsets.UTF_8, new OpenOption[0]);
            try {
                for (int i = 0; i < lines.size(); i++) {
                    writer.write((String) lines.get(i));
                    writer.write('\n');
                }
            } finally {
                writer.close();
            }
            // A checksum that Hadoop left there does not fit; without one nothing is compared.
            Files.deleteIfExists(target.resolveSibling("." + path.getName() + ".crc"));
            if (overwrite) {
                Files.move(partial, target, new CopyOption[] {StandardCopyOption.ATOMIC_MOVE});
            } else {
                Files.createLink(target, partial);
            }
            return true;
        } catch (FileAlreadyExistsException there) {
            throw new FileAlreadyExistsException(path.toString());
        } catch (NoSuchFileException gone) {
            throw gone;
        } catch (FileSystemException error) {
            return false; // no hard links there
        } catch (UnsupportedOperationException error) {
            return false;
        } finally {
            Files.deleteIfExists(partial);
        }
    }
}
