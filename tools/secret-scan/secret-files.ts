// Files that are meant to contain a secret: which kind, and where.

import type { Secret } from "./secret-shapes.ts";

type SecretFile = {
  readonly name: RegExp;
  /** The part of the text that may contain it; absent: all. */
  readonly part?: RegExp;
  readonly kinds: readonly Secret["kind"][];
};

/** One credential in each field of a kubeconfig user, whatever the file's name. */
const KUBE_CONFIG_FIELD = /("?(?:token|client-key-data)"?: *"?)([^\s"]+)/g;

const SECRET_FILES: readonly SecretFile[] = [
  // The state of an agent that runs outside of its cluster: a join value, then the key.
  { name: /-agent\.key$/, part: /("(?:key|join)": *")([^"]+)/g, kinds: ["access key"] },
  // And the private keys of test servers.
  { name: /(^|\/)server\.key$/, kinds: ["secret of a server", "private key"] },
  // Written for bootstrap manifests.
  { name: /\/bootstrap\/[\w.-]+\.key(\.pending)?$/, kinds: ["access key"] },
  // Written by commands of documentation pages.
  { name: /\/reader\/(?:[\w-]+\.key|key\.txt)$/, kinds: ["access key", "private key"] },
  { name: /\/reader\/(?:data\/)?server\.key\.old$/, kinds: ["secret of a server"] },
  { name: /\/reader\/admin\.conf$/, part: KUBE_CONFIG_FIELD, kinds: ["access key", "token", "private key"] },
  { name: /(\.key|\/key\.pem)$/, kinds: ["private key"] },
  { name: /\/access-key$/, kinds: ["access key"] },
  // Files that a person downloads with a browser.
  {
    name: /(^|\/)playwright-artifacts-\w+\/[\w-]+$/,
    part: KUBE_CONFIG_FIELD,
    kinds: ["access key", "token", "private key"],
  },
  // Files that a CI system keeps for the following steps, or hands to a job.
  { name: /\/(github-env|postern\.env)$/, part: /(POSTERN_TOKEN=)(\S+)/g, kinds: ["access key"] },
  { name: /\/token$/, kinds: ["token"] },
  {
    name: /(kubeconfig[\w.-]*|\/[\w.-]+\.yaml|\/\.kube\/config|\/\.cache\/postern\/credentials\/\w+\/\w+\.json)$/,
    part: KUBE_CONFIG_FIELD,
    kinds: ["access key", "token", "private key"],
  },
];

type FilePart = { readonly text: string; readonly kinds: readonly Secret["kind"][] };

export type PartedFile = {
  /** Each may hold one credential of one of those kinds. */
  readonly parts: readonly FilePart[];
  readonly rest: string;
};

/** Undefined for a file that may hold nothing. */
export function partedFile(name: string, text: string): PartedFile | undefined {
  const file = SECRET_FILES.find((each) => each.name.test(name));
  if (file === undefined) return undefined;
  const { part, kinds } = file;
  if (part === undefined) return { parts: [{ text, kinds }], rest: "" };
  const parts = [...text.matchAll(part)].map(([, , value = ""]) => ({ text: value, kinds }));
  return { parts, rest: text.replaceAll(part, "$1") };
}
