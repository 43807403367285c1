// Pushes, fetches or reads one ref with isomorphic-git: push|fetch|read REPOSITORY URL USER PASSWORD SOURCE TARGET.
//
// `read` prints the file TARGET of the commit that SOURCE names. Exits with 1 where the server refused, and prints what it said.
const fs = require('fs')
const git = require('isomorphic-git')
const http = require('isomorphic-git/http/node')

const [action, gitdir, url, username, password, source, target] = process.argv.slice(2)
const common = {
  fs,
  http,
  gitdir,
  url,
  onAuth: () => ({ username, password }),
  onAuthFailure: () => ({ cancel: true }),
  onMessage: (text) => process.stdout.write(text),
}

async function push() {
  try {
    const result = await git.push({ ...common, ref: source, remoteRef: target, force: true })
    console.log(JSON.stringify(result))
    return result.ok ? 0 : 1
  } catch (error) {
    console.log(error.message, JSON.stringify(error.data))
    return error.code === 'GitPushError' ? 1 : 2
  }
}

async function fetch() {
  await git.setConfig({ fs, gitdir, path: 'remote.origin.fetch', value: `+${source}:${target}` })
  await git.fetch({ ...common, remote: 'origin', ref: source, singleBranch: true, tags: false })
  return 0
}

async function read() {
  const oid = await git.resolveRef({ fs, gitdir, ref: source })
  const { blob } = await git.readBlob({ fs, gitdir, oid, filepath: target })
  process.stdout.write(Buffer.from(blob))
  return 0
}

const run = { push, fetch, read }[action]
run().then(
  (code) => process.exit(code),
  (error) => {
    console.error(error)
    process.exit(2)
  },
)
