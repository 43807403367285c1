"""Pushes, fetches or reads one ref with pygit2 (libgit2): push|fetch|read REPOSITORY URL USER PASSWORD SOURCE TARGET.

`read` prints the file TARGET of the commit that SOURCE names. Exits with 1 where the server refused, and prints what it said.
"""

import sys

import pygit2

action, directory, url, user, password, source, target = sys.argv[1:]
refused = {}


class Callbacks(pygit2.RemoteCallbacks):
    def credentials(self, url, username_from_url, allowed_types):
        return pygit2.UserPass(user, password)

    def sideband_progress(self, text):
        sys.stdout.write(text)

    def push_update_reference(self, name, message):
        if message:
            refused[name] = message


repository = pygit2.Repository(directory)
if action == "read":
    commit = repository.references[source].peel(pygit2.Commit)
    sys.stdout.buffer.write(commit.tree[target].data)
    sys.exit(0)
remote = repository.remotes.create_anonymous(url)
refspec = f"+{source}:{target}"
if action == "push":
    remote.push([refspec], callbacks=Callbacks())
    print(refused)
    sys.exit(1 if refused else 0)
remote.fetch([refspec], callbacks=Callbacks())
