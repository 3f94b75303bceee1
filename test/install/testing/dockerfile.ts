// Performs the steps of a Dockerfile without a container engine: each stage is a folder of its own that becomes the root of every command
// (mount namespace, chroot). In it are the tools of this machine's /usr, read-only, the Node that the base image brings, and what the
// steps write. Needs root.

import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, isAbsolute, join } from "node:path";
import { nodeBinary } from "../../../tools/release/node-binary.ts";

type Instruction = { readonly name: string; readonly text: string };

export type Image = {
  readonly root: string;
  readonly user: string;
  readonly workingDirectory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly healthCheck: readonly string[];
  readonly labels: string;
};

/** The base image has Node 24: it comes in front of the path. */
const NODE = "/opt/node/bin/node";
const PATH = "/opt/node/bin:/usr/local/bin:/usr/bin:/bin";

/** Comments and line continuations are gone. */
function readDockerfile(path: string): readonly Instruction[] {
  const lines = readFileSync(path, "utf8").split("\n");
  const text = lines.filter((line) => !line.startsWith("#")).join("\n");
  return text
    .replaceAll(/\\\n\s*/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, name = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? [];
      return { name: name.toUpperCase(), text: rest };
    });
}

export type Performance = {
  /** Where the roots of the stages are made. */
  readonly folder: string;
  /** Where COPY without --from reads. */
  readonly context: string;
  /** A stage by name whose steps are left out: its files are there already. */
  readonly prepared?: { readonly [stage: string]: (root: string) => void };
  readonly run: (command: readonly string[]) => Promise<void>;
};

/** Performs all stages in their order, and returns the last. Throws at an instruction that it does not know. */
export async function performDockerfile(path: string, { folder, context, prepared = {}, run }: Performance) {
  const stages = new Map<string, string>();
  let stage: { -readonly [member in keyof Image]: Image[member] } | undefined;
  let skipped = false;
  for (const { name, text } of readDockerfile(path)) {
    if (name === "FROM") {
      const [, alias = "last"] = /\sAS\s+(\S+)$/i.exec(text) ?? [];
      stage = newStage(join(folder, alias));
      stages.set(alias, stage.root);
      skipped = prepared[alias] !== undefined;
      prepared[alias]?.(stage.root);
      continue;
    }
    if (stage === undefined) throw new Error("the Dockerfile does not begin with FROM");
    if (skipped) continue;
    const inRoot = (file: string): string =>
      join(stage?.root ?? "", isAbsolute(file) ? file : join(stage?.workingDirectory ?? "/", file));
    const words = text.split(/\s+/);
    if (name === "ENV" || name === "ARG") stage.env = { ...stage.env, ...readAssignments(text, stage.env) };
    else if (name === "WORKDIR") {
      stage.workingDirectory = text;
      mkdirSync(join(stage.root, text), { recursive: true });
    } else if (name === "COPY") {
      const from = /^--from=(\S+)/.exec(text)?.[1];
      const source = from === undefined ? context : stages.get(from);
      if (source === undefined) throw new Error(`COPY from a stage that is not there: ${text}`);
      const paths = words.filter((word) => !word.startsWith("--"));
      copy(source, paths.slice(0, -1), inRoot(paths.at(-1) ?? ""), (paths.at(-1) ?? "").endsWith("/"));
    } else if (name === "RUN") {
      await run(commandIn({ ...stage, env: { ...networkSettings(), ...stage.env } }, ["/bin/sh", "-c", text]));
    } else if (name === "USER") stage.user = text;
    else if (name === "VOLUME") stage.volumes = [...stage.volumes, text];
    else if (name === "ENTRYPOINT") stage.entrypoint = JSON.parse(text) as string[];
    else if (name === "CMD") stage.cmd = JSON.parse(text) as string[];
    else if (name === "HEALTHCHECK") stage.healthCheck = JSON.parse(text.slice(text.indexOf("["))) as string[];
    else if (name === "LABEL") stage.labels += ` ${text}`;
    else if (name !== "EXPOSE") throw new Error(`a step that this test cannot perform: ${name} ${text}`);
  }
  if (stage === undefined) throw new Error("the Dockerfile is empty");
  return stage satisfies Image as Image;
}

/** How this machine reaches package registries; a container engine passes the proxies on, too. */
const networkSettings = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && /^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|npm_config_registry)$/i.test(name)
        ? [[name, value]]
        : [],
    ),
  );

function newStage(root: string) {
  for (const name of ["usr", "etc", "proc", "dev", "tmp", "opt/node/bin"])
    mkdirSync(join(root, name), { recursive: true });
  for (const name of ["bin", "sbin", "lib", "lib64"]) symlinkSync(`usr/${name}`, join(root, name));
  writeFileSync(join(root, NODE), "");
  const nothing: readonly string[] = [];
  const env: Readonly<Record<string, string>> = { PATH, HOME: "/tmp" };
  const lists = { volumes: nothing, entrypoint: nothing, cmd: nothing, healthCheck: nothing };
  return { root, user: "0:0", workingDirectory: "/", env, labels: "", ...lists };
}

function copy(source: string, paths: readonly string[], target: string, intoFolder: boolean): void {
  for (const path of paths) {
    const from = join(source, path);
    if (!existsSync(from)) throw new Error(`COPY of ${path}, which is not there`);
    const to = intoFolder ? join(target, basename(path)) : target;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  }
}

const readAssignments = (text: string, env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    [...text.matchAll(/([A-Z_]+)=("[^"]*"|\S*)/g)].map(([, name = "", value = ""]) => [
      name,
      value.replaceAll('"', "").replaceAll(/\$(\w+)/g, (_, variable: string) => env[variable] ?? ""),
    ]),
  );

export type Isolation = {
  /** Folders of the machine at the places of volumes. The rest of the root cannot be written, as with the engine's `--read-only`. */
  readonly volumes: Readonly<Record<string, { readonly folder: string; readonly readOnly?: boolean }>>;
  /** A network of its own with nothing but the loopback interface; `enterNetwork` runs a command in it. */
  readonly ownNetwork?: boolean;
  /** `uid:gid`; absent: the user of the image. */
  readonly user?: string;
  readonly env?: Readonly<Record<string, string>>;
};

/** Prefix of a command line that is to run in the network of a process. */
export const enterNetwork = (pid: number | undefined): readonly string[] => [
  "nsenter",
  "--net",
  "--target",
  String(pid),
];

/** A command in the root of the image, as its user. With `isolation`, as a container engine runs it: without capabilities. */
export function commandIn(image: Image, command: readonly string[], isolation?: Isolation): readonly string[] {
  const { root, workingDirectory } = image;
  const { volumes = {}, ownNetwork = false, user = image.user } = isolation ?? {};
  const env = { ...image.env, ...isolation?.env };
  // An engine makes the places that are missing.
  for (const place of Object.keys(volumes)) mkdirSync(join(root, place), { recursive: true });
  const steps = [
    ...(ownNetwork ? ["ip link set lo up"] : []),
    `mount --bind ${root} ${root}`,
    `mount --rbind /usr ${root}/usr && mount -o remount,bind,ro ${root}/usr`,
    `mount --rbind /etc ${root}/etc && mount -o remount,bind,ro ${root}/etc`,
    `mount --rbind /dev ${root}/dev`,
    `mount -t proc proc ${root}/proc`,
    `mount --bind ${nodeBinary("node-24")} ${root}${NODE}`,
    ...Object.entries(volumes).flatMap(([place, { folder, readOnly }]) => [
      `mount --bind ${folder} ${root}${place}`,
      ...(readOnly === true ? [`mount -o remount,bind,ro ${root}${place}`] : []),
    ]),
    ...(isolation === undefined ? [] : [`mount -o remount,bind,ro ${root}`]),
    `cd ${root}`,
    'exec "$@"',
  ];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const isolated =
    isolation === undefined ? [] : ["setpriv", "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"];
  const chroot = [
    "chroot",
    `--userspec=${user}`,
    root,
    "/usr/bin/env",
    "--chdir",
    workingDirectory,
    "-i",
    ...variables,
  ];
  return [
    "unshare",
    "--mount",
    ...(ownNetwork ? ["--net"] : []),
    "sh",
    "-euc",
    steps.join("\n"),
    "sh",
    ...chroot,
    ...isolated,
    ...command,
  ];
}
