"""Pushes, fetches or reads one ref with dulwich: push|fetch|read REPOSITORY URL USER PASSWORD SOURCE TARGET.

`read` prints the file TARGET of the commit that SOURCE names. Exits with 1 where the server refused, and prints what it said.
"""

import sys

from dulwich.client import HttpGitClient, get_transport_and_path
from dulwich.repo import Repo

action, directory, url, user, password, source, target = sys.argv[1:]
source, target = source.encode(), target.encode()
repository = Repo(directory)
if action == "read":
    tree = repository[repository[repository.refs[source]].tree]
    _, file = tree.lookup_path(repository.get_object, target)
    sys.stdout.buffer.write(repository[file].data)
    sys.exit(0)
client, path = get_transport_and_path(url, username=user, password=password)
assert isinstance(client, HttpGitClient)


def say(text):
    sys.stdout.write(text.decode(errors="replace"))


if action == "push":
    commit = repository.refs[source]
    result = client.send_pack(
        path, lambda refs: {target: commit}, repository.generate_pack_data, progress=say
    )
    refused = {name: why for name, why in (result.ref_status or {}).items() if why}
    print(refused)
    sys.exit(1 if refused else 0)
result = client.fetch(path, repository, determine_wants=lambda refs, depth=None: [refs[source]])
repository.refs[target] = result.refs[source]
