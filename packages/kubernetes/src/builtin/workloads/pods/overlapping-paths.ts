// Warnings about files of one volume that would lie in each other's place.
// Source: k8s.io/kubernetes/pkg/api/pod/warnings.go (warningsForOverlappingVirtualPaths)

import type { JsonValue } from "@postern/apimachinery/json/json-value";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import { listAt, objectAt, optionalObjectAt, textAt } from "../json-members.ts";

type Warnings = readonly string[];
type File = { readonly path: string; readonly source: string };

/** Each file is held against all before it, and a volume may have very many. */
const MOST_FILES = 200;
const MOST = 100;

export const pathWarnings = (volumes: readonly JsonValue[]): Warnings => volumes.flatMap(ofVolume).slice(0, MOST);

function ofVolume(volume: JsonValue): Warnings {
  const name = quoteGo(textAt(volume, "name"));
  const of = (what: string, files: readonly File[]): Warnings =>
    overlaps(files).map((overlap) => `volume ${name} (${what}): overlapping paths: ${overlap}`);
  const [configMap, secret] = [objectAt(volume, "configMap"), objectAt(volume, "secret")];
  const sources = listAt(objectAt(volume, "projected"), "sources");
  return [
    ...of(`ConfigMap ${quoteGo(textAt(configMap, "name"))}`, filesOf(configMap)),
    ...of(`Secret ${quoteGo(textAt(secret, "secretName"))}`, filesOf(secret)),
    ...of("DownwardAPI", filesOf(objectAt(volume, "downwardAPI"))),
    ...sources.flatMap((source) =>
      Object.keys(objectAt({ source }, "source")).length === 0
        ? [`volume ${name} (Projected) has no sources provided`]
        : [],
    ),
    ...of("Projected", sources.flatMap(projectedFiles)),
  ];
}

const filesOf = (from: JsonValue, source = ""): readonly File[] =>
  listAt(from, "items").map((item) => ({ path: textAt(item, "path"), source }));

function projectedFiles(source: JsonValue): readonly File[] {
  const [configMap, secret] = [objectAt(source, "configMap"), objectAt(source, "secret")];
  const bundle = optionalObjectAt(source, "clusterTrustBundle");
  const token = optionalObjectAt(source, "serviceAccountToken");
  const certificate = objectAt(source, "podCertificate");
  return [
    ...filesOf(configMap, `ConfigMap ${quoteGo(textAt(configMap, "name"))}`),
    ...filesOf(secret, `Secret ${quoteGo(textAt(secret, "name"))}`),
    ...filesOf(objectAt(source, "downwardAPI"), "DownwardAPI"),
    ...(token === undefined ? [] : [{ path: textAt(token, "path"), source: "ServiceAccountToken" }]),
    ...(bundle === undefined
      ? []
      : [
          {
            path: textAt(bundle, "path"),
            source: `ClusterTrustBundle ${quoteGo(textAt(bundle, "name") || textAt(bundle, "signerName"))}`,
          },
        ]),
    ...CERTIFICATE_FILES.flatMap(([member, what]) =>
      textAt(certificate, member) === ""
        ? []
        : [{ path: textAt(certificate, member), source: `PodCertificate ${what}` }],
    ),
  ];
}

const CERTIFICATE_FILES = [
  ["certificateChainPath", "chain"],
  ["keyPath", "key"],
  ["credentialBundlePath", "credential bundle"],
] as const;

const shown = ({ path, source }: File): string => (source === "" ? quoteGo(path) : `${quoteGo(path)} (${source})`);

function overlaps(files: readonly File[]): Warnings {
  const before: File[] = [];
  return files.slice(0, MOST_FILES).flatMap(({ path, source }) => {
    const file = { path: withoutEnd(path), source };
    const found =
      file.path === "" ? [] : before.filter((other) => other.path !== "" && areNested(file.path, other.path));
    before.push(file);
    return found.map((other) => `${shown(file)} with ${shown(other)}`);
  });
}

function withoutEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return path.slice(0, end);
}

const areNested = (one: string, other: string): boolean =>
  `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`);
