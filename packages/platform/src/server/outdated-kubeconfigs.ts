// Kubeconfigs with tokens that trust the earlier CA of the platform alone, as far as the server can know: those made before the rotation was prepared
// whose tokens were used since. A client does not say which CA it trusts.

import type { Steps } from "@postern/apimachinery/steps/steps";
import { formatTimestamp } from "@postern/apimachinery/time/timestamp";
import type { AccessKeys } from "../features/access-keys/feature.ts";
import { virtualClusterOf } from "../features/access-keys/kinds/credential-entries.ts";
import type { OutdatedCredentials } from "../features/certificate-authorities/present-authority.ts";
import { LatestUsed, presentUse } from "../features/certificates/outdated-certificates.ts";
import { isGeneratorKeyName } from "../features/kubeconfig-generators/kinds/kubeconfig-generators/generator-key.ts";

/** In steps: there may be a million keys. `preparedAt` in milliseconds since the epoch. */
export function* outdatedKubeconfigs(
  preparedAt: number,
  { index, activity }: Pick<AccessKeys, "index" | "activity">,
): Steps<OutdatedCredentials> {
  const latest = new LatestUsed(preparedAt);
  // The Secrets of generators have the new bundle, and the same tokens.
  const isGenerated = (parents: readonly string[]): boolean =>
    parents.some((uid) => isGeneratorKeyName(index.byUid(uid)?.name ?? ""));
  for (const key of index.all()) {
    yield;
    // A whole second: one that was created right after the preparation is listed as well.
    if (key.createdAt >= preparedAt) continue;
    const use = activity.lastUse(key);
    if (use === undefined || use.at < preparedAt) continue;
    const { virtualCluster } = virtualClusterOf(key);
    if (virtualCluster === undefined || isGenerated(key.parentUids) || index.refusalOf(key) !== undefined) continue;
    const { id, owner, expiresAt } = key;
    latest.add(use, () => ({
      kind: "AccessKey",
      id,
      subject: virtualCluster,
      owner: `${owner.kind}/${owner.name}`,
      ...(expiresAt === undefined ? {} : { expirationTimestamp: formatTimestamp(expiresAt) }),
      ...presentUse(use),
    }));
  }
  return latest.credentials();
}
