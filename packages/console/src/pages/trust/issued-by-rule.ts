// The access keys that a trust rule issued.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { TrustRule } from "@postern/api/trust-rule";

/** As the server records it in `status.issuedBy.rule` of a key: the plural, the namespace of a project's rule, the name. */
const idOf = ({ metadata: { namespace = "", name = "" } }: Pick<TrustRule, "metadata">): string =>
  namespace === "" ? `clustertrustrules/${name}` : `trustrules/${namespace}/${name}`;

export function issuedByRule(
  keys: readonly OwnedAccessKey[],
  rule: Pick<TrustRule, "metadata">,
): readonly OwnedAccessKey[] {
  const id = idOf(rule);
  return keys.filter(({ status }) => status?.issuedBy?.rule === id);
}
