// Runs the shell blocks of a page in their order and as written: in a folder of the reader's own, with the real command, server and kubectl.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { chmod, mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { createTestCertificate } from "@postern/apiserver/transport/testing/test-certificates";
import { startEtcd } from "@postern/stores/etcd/testing/start-etcd";
import { lastingPorts } from "@postern/stores/testing/lasting-ports";
import { recordOutput } from "../../../tools/secret-scan/recorder-of-run.ts";
import { ENTRY, NODE, REPOSITORY, startPostern, temporaryDirectory } from "../../e2e/testing/postern-process.ts";

export type Page = {
  readonly path: string;
  /** Prerequisites of the page: runs before the first block. Default: a server with the data directory `data`. */
  readonly given?: string;
  /** Steps of the reader without a command of the page, by the beginning of the line that follows. */
  readonly before?: { readonly [line: string]: string };
  /** Names that differ for every reader, and what they are here. */
  readonly names?: readonly (readonly [name: string, here: string])[];
  /** Commands in the text and in tables, which run after the blocks. */
  readonly inline?: readonly string[];
  /** Checks what the commands achieved. */
  readonly afterwards?: string;
  /** `etcd`: three members with TLS; `etcd with client certificates`; `cluster`: a second Postern, whose `demo` can be connected. */
  readonly needs?: "etcd" | "etcd with client certificates" | "cluster";
  /** Patterns in the output of the commands. */
  readonly expected: readonly RegExp[];
};

/** Names that every page uses. */
const ADDRESS = "127.0.0.1:8443";
const SERVE = "postern serve --data-dir data\n";

/** `server` is the process of the last `postern serve`: a reader runs it in one terminal, and continues in another. */
const PREAMBLE = `
server=
stop() {
  if [ -n "$server" ]; then kill "$server"; wait "$server" || true; server=; fi
}
trap stop EXIT
postern() {
  if [ "$1" != serve ]; then "$PROGRAMS/postern" "$@"; return; fi
  stop
  case " $* " in *" --secure-port "*) ;; *) set -- "$@" --secure-port "$PORT" ;; esac
  : > server.log
  "$PROGRAMS/postern" "$@" >> server.log 2>&1 &
  server=$!
  until grep --quiet "Postern is ready at" server.log; do
    kill -0 "$server" 2> /dev/null || { cat server.log >&2; exit 1; }
    sleep 0.1
  done
}
program() {
  printf '#!/bin/sh\\n%s\\n' "$2" > "$PROGRAMS/$1"
  chmod +x "$PROGRAMS/$1"
}
refused() {
  local message="$1" printed; shift
  if printed=$("$@" 2>&1); then echo "not refused: $*" >&2; exit 1; fi
  case "$printed" in *"$message"*) ;; *) echo "$* was refused with: $printed" >&2; exit 1 ;; esac
}
`;

const MARK = "=== block";

export type PageRun = {
  readonly printed: string;
  /** Files with credentials that the reader has then, but for the data directory and the configuration below HOME. */
  readonly secretFiles: readonly SecretFile[];
};

type SecretFile = { readonly path: string; readonly isPrivate: boolean };

/** Rejects if a command fails. */
export async function runPage(page: Page): Promise<PageRun> {
  await using directory = await temporaryDirectory();
  await using surroundings = await startSurroundings(page, directory.path);
  const reader = join(directory.path, "reader");
  const programs = join(directory.path, "programs");
  for (const folder of [reader, programs]) await mkdir(folder);
  await writeFile(join(programs, "postern"), `#!/bin/sh\nexec '${NODE}' '${ENTRY}' "$@"\n`);
  await chmod(join(programs, "postern"), 0o755);
  const [port = 0] = await lastingPorts(1);
  const blocks = [page.given ?? SERVE, ...commandsOf(page), page.afterwards ?? ""];
  // The prerequisites of a page are private. Files that the page has its reader write are as private as it says.
  const script = blocks
    .map((block, at) => `umask ${at === 0 ? "077" : '"$mask"'}\necho '${MARK} ${at}'\n${block}\nmask=$(umask)`)
    .map((block, at) => (at === 0 ? `${block}\nmask=022` : block))
    .join("\n");
  const file = join(directory.path, "page.sh");
  for (const [at, block] of blocksOf(page.path, "yaml").entries()) {
    await writeFile(join(directory.path, `block-${at + 1}.yaml`), block);
  }
  await writeFile(file, `${PREAMBLE}${script}`.replaceAll(ADDRESS, `127.0.0.1:${port}`));
  const child = spawn("bash", ["-euo", "pipefail", file], {
    cwd: reader,
    // A group of its own, so that no server outlives the page.
    detached: true,
    env: {
      HOME: reader,
      PATH: `${programs}:${process.env["PATH"]}`,
      PROGRAMS: programs,
      REPOSITORY,
      PORT: String(port),
      KUBECONFIG: "data/admin.kubeconfig",
      // `$YAML-2.yaml` is the second YAML block of the page.
      YAML: join(directory.path, "block"),
      GOGC: "off",
      ...surroundings.environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
    record(page.path, blocks, stdout, stderr);
    if (code !== 0) throw new Error(`${page.path}: a command failed with ${code}:\n${stderr}\n${stdout}`);
    return { printed: stdout, secretFiles: await secretFilesIn(reader) };
  } finally {
    endGroup(child);
  }
}

/** An access key, a private key, or a server key. */
const SECRET = /\bpst_[a-z0-9]{10}_\w{40}|PRIVATE KEY-----|^[0-9a-f]{64}$/m;
/** The data directory, the configuration below HOME, and places outside of a checkout in the pages. */
const NOT_IN_CHECKOUT = /^(data|etc|try|\.config|\.kube|\.cache)\//;

async function secretFilesIn(folder: string): Promise<readonly SecretFile[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !NOT_IN_CHECKOUT.test(relative(folder, path)));
  const found = await Promise.all(
    paths.map(async (path): Promise<readonly SecretFile[]> => {
      const [content, { mode }] = await Promise.all([readFile(path, "latin1"), stat(path)]);
      const isDatabase = path.includes("postern.db");
      if (!isDatabase && !SECRET.test(content)) return [];
      return [{ path: relative(folder, path), isPrivate: (mode & 0o077) === 0 }];
    }),
  );
  return found.flat();
}

type Surroundings = AsyncDisposable & { readonly environment: Readonly<Record<string, string>> };

async function startSurroundings({ needs }: Page, folder: string): Promise<Surroundings> {
  if (needs === "cluster") {
    const host = await startPostern(join(folder, "host"));
    return {
      environment: { HOST_KUBECONFIG: host.adminKubeconfig },
      [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
    };
  }
  if (needs === undefined) return { environment: {}, async [Symbol.asyncDispose]() {} };
  const [certificate, key] = [join(folder, "etcd.crt"), join(folder, "etcd.key")];
  const made = createTestCertificate("etcd");
  await writeFile(certificate, made.cert);
  await writeFile(key, made.key);
  const clients = needs === "etcd" ? [] : ["--client-cert-auth", "--trusted-ca-file", certificate];
  const flags = ["--cert-file", certificate, "--key-file", key, ...clients];
  const etcd = await startEtcd({ size: 3, scheme: "https", flags });
  const endpoints = etcd.endpoints.map((endpoint, at) => [`ETCD_${at}`, endpoint]);
  return {
    environment: { ...Object.fromEntries(endpoints), ETCD_CERTIFICATE: certificate, ETCD_KEY: key },
    [Symbol.asyncDispose]: () => etcd[Symbol.asyncDispose](),
  };
}

const read = (path: string): string => readFileSync(join(REPOSITORY, path), "utf8");

export const shellBlocks = (path: string): readonly string[] => blocksOf(path, "sh");

/** The blocks of a page in a language, without the indentation that they have in lists. */
const blocksOf = (path: string, language: string): readonly string[] =>
  [...read(path).matchAll(new RegExp(`^( *)\`\`\`${language}\\n(.*?)^\\1\`\`\`$`, "gms"))].map(
    ([, indentation = "", block = ""]) => block.replaceAll(new RegExp(`^${indentation}`, "gm"), ""),
  );

function commandsOf({ path, before = {}, names = [], inline = [] }: Page): readonly string[] {
  const used = new Set<string>();
  const prose = read(path).replaceAll(/\s+/g, " ");
  const missing = inline.filter((command) => !prose.includes(`\`${command}\``));
  const blocks = [...shellBlocks(path), ...inline].map((block) => {
    let commands = block;
    for (const [name, here] of names) {
      if (commands.includes(name)) used.add(name);
      commands = commands.replaceAll(name, here);
    }
    return commands.split("\n").flatMap((line) => {
      const found = Object.entries(before).find(([start]) => line.startsWith(start));
      if (found === undefined) return [withRefusal(line)];
      const [start, own] = found;
      if (used.has(start)) throw new Error(`${path} has several lines that begin with ${start}`);
      used.add(start);
      return [own, withRefusal(line)];
    });
  });
  const unused = [
    ...missing,
    ...[...Object.keys(before), ...names.map(([name]) => name)].filter((each) => !used.has(each)),
  ];
  if (unused.length > 0) throw new Error(`${path} does not contain ${unused.join(", ")}`);
  return blocks.map((lines) => lines.join("\n"));
}

/** A comment announces that a command fails, and with which message. */
const withRefusal = (line: string): string =>
  line.replace(/^(.*?) +# error: (.*)$/, (_, command: string, message: string) => `refused '${message}' ${command}`);

/** Commands whose output contains a new credential. */
const ISSUING =
  /key (create|rotate|compromised)|cluster join|create --raw \S+(rotate|kubeconfig)|\.spec\.key|curl .*kubeconfig/s;

/** Block by block: only some may print a credential. */
function record(path: string, blocks: readonly string[], stdout: string, stderr: string): void {
  for (const part of stdout.split(`${MARK} `).slice(1)) {
    const [, number = "", printed = ""] = /^(\d+)\n(.*)$/s.exec(part) ?? [];
    const issues = ISSUING.test(blocks[Number(number)] ?? "") ? "issuing" : "other";
    recordOutput(`page ${path}, ${issues} block ${number}`, printed);
  }
  recordOutput(`page ${path}`, "", stderr);
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Every process of the group has ended.
  }
}
