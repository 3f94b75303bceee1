// Writes kubeconfigs: for each context a cluster and a user of the same name.
// Source: k8s.io/client-go/tools/clientcmd/api/v1/types.go

import { writeYamlScalar } from "./yaml-scalar.ts";

/** A client that keeps its private key puts it beside the certificate itself. Without any, the client brings a credential of its own. */
export type KubeconfigCredential =
  | { readonly token: string }
  | { readonly clientCertificatePem: string; readonly clientKeyPem: string | undefined }
  | undefined;

export type KubeconfigParts = {
  /** Base URL of the API, as `normalizeServer` gives it. */
  readonly server: string;
  /** PEM bundle; absent when the server's certificate comes from a public authority. */
  readonly certificateAuthorityPem?: string;
  /** Only for a cluster that is configured so: the client then trusts any server, and no authority is written. */
  readonly insecureSkipTlsVerify?: boolean;
  readonly credential: KubeconfigCredential;
  /** The context's namespace. */
  readonly namespace?: string;
  /** The name of cluster, user and context: files of different names can be used together, `KUBECONFIG=a:b`. */
  readonly name: string;
};

/** The YAML document of one context, which is the current one. Secrets in it: the token, or the client key. */
export const buildKubeconfig = (parts: KubeconfigParts): string => buildKubeconfigOf([parts], parts.name);

/** The YAML document of several contexts with different names. Without `current`, clients have to choose one. */
export function buildKubeconfigOf(contexts: readonly KubeconfigParts[], current: string | undefined): string {
  return [
    "apiVersion: v1",
    "kind: Config",
    ...listOf("clusters", contexts.flatMap(clusterLines)),
    ...listOf("contexts", contexts.flatMap(contextLines)),
    ...(current === undefined ? [] : [`current-context: ${writeYamlScalar(current)}`]),
    "preferences: {}",
    ...listOf(
      "users",
      contexts.flatMap(({ name, credential }) => [`- name: ${writeYamlScalar(name)}`, ...userLines(credential)]),
    ),
    "",
  ].join("\n");
}

const listOf = (name: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [`${name}: []`] : [`${name}:`, ...lines];

const clusterLines = (parts: KubeconfigParts): readonly string[] => [
  "- cluster:",
  ...trustLines(parts),
  `    server: ${writeYamlScalar(parts.server)}`,
  `  name: ${writeYamlScalar(parts.name)}`,
];

function contextLines({ name, namespace }: KubeconfigParts): readonly string[] {
  const scalar = writeYamlScalar(name);
  return [
    "- context:",
    `    cluster: ${scalar}`,
    ...(namespace === undefined ? [] : [`    namespace: ${writeYamlScalar(namespace)}`]),
    `    user: ${scalar}`,
    `  name: ${scalar}`,
  ];
}

/** kubectl refuses a file that has both an authority and the insecure mark. */
function trustLines({ insecureSkipTlsVerify = false, certificateAuthorityPem }: KubeconfigParts): readonly string[] {
  if (insecureSkipTlsVerify) return ["    insecure-skip-tls-verify: true"];
  if (certificateAuthorityPem === undefined) return [];
  return [`    certificate-authority-data: ${toBase64(certificateAuthorityPem)}`];
}

function userLines(credential: KubeconfigCredential): readonly string[] {
  if (credential === undefined) return ["  user: {}"];
  if ("token" in credential) return ["  user:", `    token: ${writeYamlScalar(credential.token)}`];
  const { clientCertificatePem, clientKeyPem } = credential;
  const lines = ["  user:", `    client-certificate-data: ${toBase64(clientCertificatePem)}`];
  return clientKeyPem === undefined ? lines : [...lines, `    client-key-data: ${toBase64(clientKeyPem)}`];
}

const toBase64 = (text: string): string => Buffer.from(text, "utf8").toString("base64");
