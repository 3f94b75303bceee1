// The Secrets of a generator in each of its formats.
// Sources: argo-cd docs/operator-manual/declarative-setup.md (Clusters) and util/db/cluster.go (SecretToCluster), fluxcd.io kustomization spec.kubeConfig.secretRef

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import { buildKubeconfig, buildKubeconfigOf } from "../../foundation/kubeconfig/kubeconfig.ts";

export type StringMap = { readonly [name: string]: string };

export type FleetEntry = {
  /** Name of the virtual cluster. */
  readonly cluster: string;
  readonly server: string;
  /** PEM; undefined where public roots verify the server. */
  readonly certificateAuthorityPem: string | undefined;
  readonly token: string;
  /** Of the virtual cluster. */
  readonly labels: StringMap;
};

export type FleetSecret = {
  /** Those that the format needs. */
  readonly labels: StringMap;
  /** Those that spec.secretTemplate adds. */
  readonly template: { readonly labels: StringMap; readonly annotations: StringMap };
  /** Text by key. */
  readonly content: { readonly [key: string]: string };
};

const ARGO_TYPE = { "argocd.argoproj.io/secret-type": "cluster" };
const DEFAULT_KEY = "config";
/** Where Flux looks for a kubeconfig. */
const FLUX_KEY = "value";

const isOneSecret = ({ spec: { format = "Kubeconfig" } }: KubeconfigGenerator): boolean => format === "Kubeconfig";

/** Name of the Secret that has the credential for a virtual cluster. */
export const secretOfCluster = (generator: KubeconfigGenerator, cluster: string): string =>
  isOneSecret(generator) ? generator.spec.secretRef.name : `${generator.spec.secretRef.name}-${cluster}`;

/** Secrets by name. The one of the format Kubeconfig is there without any entry as well. */
export function secretsOf(
  generator: KubeconfigGenerator,
  project: string,
  entries: readonly FleetEntry[],
): ReadonlyMap<string, FleetSecret> {
  const { format = "Kubeconfig", secretRef } = generator.spec;
  const partsOf = ({ cluster, server, certificateAuthorityPem, token }: FleetEntry) => ({
    name: `${project}-${cluster}`,
    server,
    ...(certificateAuthorityPem === undefined ? {} : { certificateAuthorityPem }),
    credential: { token },
  });
  const { labels = {}, annotations = {}, copyLabels = [] } = generator.spec.secretTemplate ?? {};
  if (isOneSecret(generator)) {
    // No context is the current one: a command without --context then reaches none.
    const text = buildKubeconfigOf(entries.map(partsOf), undefined);
    const content = { [secretRef.key ?? DEFAULT_KEY]: text };
    return new Map([[secretRef.name, { labels: {}, template: { labels, annotations }, content }]]);
  }
  return new Map(
    entries.map((entry) => {
      const secret =
        format === "Flux"
          ? { labels: {}, content: { [secretRef.key ?? FLUX_KEY]: buildKubeconfig(partsOf(entry)) } }
          : { labels: ARGO_TYPE, content: argoCluster(project, entry, generator.spec.argoCD) };
      const copied = Object.fromEntries(Object.entries(entry.labels).filter(([key]) => copyLabels.includes(key)));
      const template = { labels: { ...labels, ...copied }, annotations };
      return [secretOfCluster(generator, entry.cluster), { ...secret, template }] as const;
    }),
  );
}

function argoCluster(
  project: string,
  { cluster, server, certificateAuthorityPem, token }: FleetEntry,
  settings: KubeconfigGenerator["spec"]["argoCD"] = {},
): StringMap {
  const caData = certificateAuthorityPem && Buffer.from(certificateAuthorityPem, "utf8").toString("base64");
  const config = {
    bearerToken: token,
    tlsClientConfig: { insecure: false, ...(caData === undefined ? {} : { caData }) },
  };
  const { project: appProject, namespaces = [], clusterResources = false, shard } = settings;
  return {
    name: `${project}-${cluster}`,
    server,
    config: JSON.stringify(config),
    ...(appProject === undefined ? {} : { project: appProject }),
    ...(namespaces.length === 0 ? {} : { namespaces: namespaces.join(",") }),
    // Argo CD compares it with this text alone.
    ...(clusterResources ? { clusterResources: "true" } : {}),
    ...(shard === undefined ? {} : { shard: String(shard) }),
  };
}

/** Bytes that an entry adds to the one Secret of the format Kubeconfig; 0 where each entry has a Secret of its own. */
export function sizeInSecret(generator: KubeconfigGenerator, project: string, entry: FleetEntry): number {
  if (!isOneSecret(generator)) return 0;
  const sizeOf = (entries: readonly FleetEntry[]): number =>
    [...secretsOf(generator, project, entries).values()].reduce(
      (sum, { content }) => sum + Object.values(content).reduce((bytes, text) => bytes + Buffer.byteLength(text), 0),
      0,
    );
  return sizeOf([entry]);
}
