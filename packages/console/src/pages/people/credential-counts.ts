// How many credentials of each sort a user has, to say what ends when all of them are revoked.

import type { Credential } from "@postern/api/credential-ledger";
import { isGeneratorKey } from "../keys/key-state.ts";

export type CredentialCounts = {
  readonly sessions: number;
  /** Tokens of kubeconfigs. */
  readonly kubeconfigs: number;
  readonly generators: number;
  readonly keys: number;
  readonly certificates: number;
  /** Certificates that a cluster itself verifies, which cannot be revoked. */
  readonly elsewhere: number;
};

export function countCredentials(credentials: readonly Credential[]): CredentialCounts {
  const counts = { sessions: 0, kubeconfigs: 0, generators: 0, keys: 0, certificates: 0, elsewhere: 0 };
  for (const credential of credentials) counts[sortOf(credential)]++;
  return counts;
}

function sortOf({ kind, type, name = "", virtualCluster, enforcedBy }: Credential): keyof CredentialCounts {
  if (enforcedBy === "Cluster") return "elsewhere";
  if (kind === "Certificate") return "certificates";
  if (type === "Login") return "sessions";
  if (isGeneratorKey(type, name)) return "generators";
  return type === "Other" && virtualCluster !== undefined ? "kubeconfigs" : "keys";
}
