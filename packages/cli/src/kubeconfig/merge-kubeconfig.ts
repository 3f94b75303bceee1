// `--merge`: which file is the user's own kubeconfig, and how kubectl sees the contexts that were written into it.

import { basename, join, resolve } from "node:path";
import { type Kubeconfig, KubeconfigError } from "@postern/client/kubeconfig";
import { changeKubeconfigFile, type KubeconfigEntry, putKubeconfigEntries } from "@postern/client/kubeconfig-file";
import { kubeconfigFiles, loadKubeconfig, userKubeconfig } from "@postern/client/load-kubeconfig";
import type { CommandContext } from "../command-context.ts";
import { isPlatformAddress, kubeconfigFilesIfHome } from "../login/platform-choice.ts";
import { plainText } from "../output/plain-text.ts";
import { shellQuote } from "../output/shell-quote.ts";
import { UsageError } from "../usage-error.ts";

type Surroundings = Pick<CommandContext, "environment" | "workingDirectory">;

/** `file`: undefined for the one that kubectl uses. `current` becomes the current context. Returns what to say about it. */
export async function mergeKubeconfig(
  entries: readonly KubeconfigEntry[],
  file: string | undefined,
  current: string | undefined,
  surroundings: Surroundings,
): Promise<string> {
  const path = await mergeTarget(file, surroundings);
  await changeKubeconfigFile(path, (text) => putKubeconfigEntries(text, path, entries, current));
  const names = entries.map(({ name }) => plainText(name));
  const wrote = `Wrote ${names.length === 1 ? "context" : "contexts"} ${names.join(", ")} to ${path}.`;
  return `${wrote} ${await whatIsCurrent(path, names, surroundings)}\n`;
}

/**
 * The named file; else the first of KUBECONFIG, or `~/.kube/config`. Never a file of a platform, such as `admin.kubeconfig`: its server writes it
 * again, and the platform would be lost behind the current context of a virtual cluster.
 */
async function mergeTarget(file: string | undefined, { environment, workingDirectory }: Surroundings): Promise<string> {
  const at = (path: string) => resolve(workingDirectory, path);
  if (file !== undefined) {
    if (await isOfPlatform(at(file), environment))
      throw new UsageError(`${file} is the kubeconfig of a platform: name another file, or none for your own`);
    return at(file);
  }
  if ((environment["KUBECONFIG"] ?? "") === "") return userKubeconfig(environment);
  for (const each of kubeconfigFiles(environment)) if (!(await isOfPlatform(at(each), environment))) return at(each);
  return userKubeconfig(environment);
}

/** Whether all contexts are platforms. A missing or unreadable file is not. */
async function isOfPlatform(path: string, environment: Surroundings["environment"]): Promise<boolean> {
  if (basename(path) === "admin.kubeconfig") return true;
  const config = await loadKubeconfig({ path, environment }).catch(() => undefined);
  const contexts = [...(config?.contexts.values() ?? [])];
  return contexts.length > 0 && contexts.every(({ cluster }) => isPlatformAddress(serverOf(config, cluster)));
}

const serverOf = (config: Kubeconfig | undefined, cluster: string): string =>
  config?.clusters.get(cluster)?.server ?? "";

/** The first of the merged files that names a current context wins. */
async function whatIsCurrent(path: string, names: readonly string[], surroundings: Surroundings): Promise<string> {
  const { environment, workingDirectory } = surroundings;
  const isRead = kubeconfigFilesIfHome(environment).some((file) => resolve(workingDirectory, file) === path);
  if (!isRead) {
    const isInstead = (environment["KUBECONFIG"] ?? "") !== "" && path.endsWith(join(".kube", "config"));
    return isInstead
      ? `kubectl reads KUBECONFIG (${environment["KUBECONFIG"]}) instead: run unset KUBECONFIG first.`
      : `Use it with kubectl --kubeconfig ${shellQuote(path)}.`;
  }
  const current = await loadKubeconfig({ environment }).then(
    (config) => config.currentContext,
    (error: unknown) => {
      // Another file of the list is broken: kubectl says so.
      if (error instanceof KubeconfigError) return "";
      throw error;
    },
  );
  const [first = ""] = names;
  if (names.length === 1 && current === first) return "It is the current context.";
  const use = `use ${names.length === 1 ? "it" : "them"} with kubectl --context ${shellQuote(first)}`;
  return current === "" ? `No context is current: ${use}.` : `The current context is ${plainText(current)}: ${use}.`;
}
