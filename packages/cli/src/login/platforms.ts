// The platforms that the user is signed in to: a kubeconfig file with mode 0600 and one context per platform, which kubectl can read. It is
// independent of the kubeconfigs of kubectl.

import { readFile } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";
import { KubeconfigError, parseKubeconfig } from "@postern/client/kubeconfig";
import { changeKubeconfigFile, putKubeconfigEntries, removeKubeconfigEntry } from "@postern/client/kubeconfig-file";
import { homeDirectory } from "@postern/client/load-kubeconfig";
import type { CommandContext } from "../command-context.ts";
import { UsageError } from "../usage-error.ts";

type Environment = CommandContext["environment"];

export type Platform = {
  /** The host and port of its address, unless `postern login --name` sets another name. */
  readonly name: string;
  readonly server: string;
  readonly isCurrent: boolean;
};

/** Where `postern login` stores credentials. */
export function platformsFile(environment: Environment): string {
  return join(baseDirectory(environment, "XDG_CONFIG_HOME", ".config"), "postern", "platforms.yaml");
}

/** Source: XDG Base Directory Specification 0.8 (relative paths are ignored) */
export function baseDirectory(environment: Environment, variable: string, belowHome: string): string {
  const named = environment[variable] ?? "";
  return isAbsolute(named) ? named : join(homeDirectory(environment), belowHome);
}

/** In the order of the file; empty before the first sign-in. */
export async function listPlatforms(environment: Environment): Promise<readonly Platform[]> {
  const path = platformsFile(environment);
  const text = await readIfThere(path);
  if (text === undefined) return [];
  const { contexts, clusters, currentContext } = parseKubeconfig(text, path);
  return [...contexts.keys()].map((name) => ({
    name,
    server: clusters.get(name)?.server ?? "",
    isCurrent: name === currentContext,
  }));
}

/** Stores the credential, and makes the platform the current one. */
export async function savePlatform(
  environment: Environment,
  {
    name,
    server,
    token,
    certificateAuthorityPem,
  }: { name: string; server: string; token: string; certificateAuthorityPem?: string | undefined },
): Promise<void> {
  const path = platformsFile(environment);
  const trust =
    certificateAuthorityPem === undefined
      ? {}
      : { "certificate-authority-data": Buffer.from(certificateAuthorityPem).toString("base64") };
  const entry = { name, cluster: { server, ...trust }, user: { token } };
  await changeKubeconfigFile(path, (text) => putKubeconfigEntries(text, path, [entry], name));
}

/** Deletes the credential. The first remaining platform becomes the current one. */
export async function forgetPlatform(environment: Environment, name: string): Promise<void> {
  const path = platformsFile(environment);
  await changeKubeconfigFile(path, (text) => {
    const without = removeKubeconfigEntry(text, path, name);
    const { currentContext, contexts } = parseKubeconfig(without, path);
    const [next] = contexts.keys();
    return currentContext !== "" || next === undefined ? without : putKubeconfigEntries(without, path, [], next);
  });
}

/** The platform with that name or address. Throws UsageError. */
export async function findPlatform(environment: Environment, nameOrAddress: string): Promise<Platform> {
  const platforms = await listPlatforms(environment);
  const found = platforms.find(
    ({ name, server }) => name === nameOrAddress || server === addressOrEmpty(nameOrAddress),
  );
  if (found !== undefined) return found;
  const known = platforms.length === 0 ? "" : ` (signed in: ${platforms.map(({ name }) => name).join(", ")})`;
  throw new UsageError(`you are not signed in to ${nameOrAddress}: run postern login${known}`);
}

const isPem = (text: string): boolean => text.includes("-----BEGIN CERTIFICATE-----");
export const absoluteAuthority = (textOrPath: string): string => (isPem(textOrPath) ? textOrPath : resolve(textOrPath));

/** A PEM bundle, given as text or as the path of a file. Throws UsageError. */
export async function readAuthority(textOrPath: string): Promise<string> {
  if (isPem(textOrPath)) return textOrPath;
  const text = await readFile(textOrPath, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`cannot read the certificate authority ${textOrPath} (${error.code})`);
  });
  if (!isPem(text)) throw new UsageError(`${textOrPath} contains no PEM certificate`);
  return text;
}

/** The base URL of a platform; `https://` may be left out. Throws UsageError. */
export function parseAddress(text: string): string {
  const address = addressOrEmpty(text);
  if (address === "")
    throw new UsageError(`${JSON.stringify(text)} is not the address of a platform: write https://host:port`);
  return address;
}

function addressOrEmpty(text: string): string {
  const withScheme = text.includes("://") ? text : `https://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  const isPlain =
    url !== undefined && url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isPlain || url.protocol !== "https:") return "";
  return `${url.origin}${url.pathname.replace(/\/$/, "")}`;
}

const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new KubeconfigError(`cannot read ${path} (${error.code})`, { cause: error });
  });
