import java.io.File;
import java.util.List;
import org.eclipse.jgit.lib.NullProgressMonitor;
import org.eclipse.jgit.lib.Repository;
import org.eclipse.jgit.revwalk.RevWalk;
import org.eclipse.jgit.storage.file.FileRepositoryBuilder;
import org.eclipse.jgit.transport.PushResult;
import org.eclipse.jgit.transport.RefSpec;
import org.eclipse.jgit.transport.RemoteRefUpdate;
import org.eclipse.jgit.transport.Transport;
import org.eclipse.jgit.transport.URIish;
import org.eclipse.jgit.transport.UsernamePasswordCredentialsProvider;
import org.eclipse.jgit.treewalk.TreeWalk;

/**
 * Pushes, fetches or reads one ref with JGit: push|fetch|read REPOSITORY URL USER PASSWORD SOURCE TARGET.
 *
 * `read` prints the file TARGET of the commit that SOURCE names. Exits with 1 where the server refused, and prints what
 * it said. Without arguments it does nothing: whoever runs it
 * so sees that JGit is there.
 */
public class WithJGit {
    public static void main(String[] args) throws Exception {
        if (args.length == 0) {
            return;
        }
        String action = args[0], source = args[5], target = args[6];
        try (Repository repository = new FileRepositoryBuilder().setGitDir(new File(args[1])).build();
                Transport transport = Transport.open(repository, new URIish(args[2]))) {
            transport.setCredentialsProvider(new UsernamePasswordCredentialsProvider(args[3], args[4]));
            if (action.equals("read")) {
                read(repository, source, target);
                return;
            }
            if (action.equals("push")) {
                System.exit(push(repository, transport, source, target));
            }
            RefSpec refspec = new RefSpec("+" + source + ":" + target);
            transport.fetch(NullProgressMonitor.INSTANCE, List.of(refspec));
        }
    }

    private static void read(Repository repository, String source, String target) throws Exception {
        try (RevWalk walk = new RevWalk(repository)) {
            var tree = walk.parseCommit(repository.resolve(source)).getTree();
            var file = TreeWalk.forPath(repository, target, tree).getObjectId(0);
            repository.open(file).copyTo(System.out);
            System.out.flush();
        }
    }

    private static int push(Repository repository, Transport transport, String source, String target)
            throws Exception {
        RemoteRefUpdate update = new RemoteRefUpdate(repository, source, target, true, null, null);
        PushResult result = transport.push(NullProgressMonitor.INSTANCE, List.of(update));
        System.out.println(result.getMessages());
        System.out.println(update.getStatus() + " " + update.getMessage());
        boolean isTaken = update.getStatus() == RemoteRefUpdate.Status.OK;
        return isTaken ? 0 : 1;
    }
}
