// Where a virtual cluster behind the platform answers otherwise than the recorded server, because there is a platform in front of it.

const steps = (scenario: string, numbers: readonly number[], reason: string): readonly (readonly [string, string])[] =>
  numbers.map((number) => [`${scenario}#${number}`, reason]);

const NO_ANONYMOUS = "the platform lets nobody through to a virtual cluster without a credential of its own";
const KEY_TEXT = "the platform says in its own words that it does not know an access key";
const TOKEN_ONLY = "the step sends a token in a form that stands for no access key of this test";
const PLAIN_TEXT = "kubectl shows refusals of aggregated discovery only where they are plain text (ADR 15)";
const PLATFORM_GROUPS = "who comes by the platform is also in its groups, and has no uid in the virtual cluster";
const FOREIGN_TOKEN = "the virtual cluster reviews tokens of its own ServiceAccounts, not keys of the platform";
const SIGNED_CONTINUE = "continue tokens are signed on a store of many tenants, so that none can be made up";
const CANONICAL_PATHS = "a path with an empty segment has no one meaning to decide about, and is refused";
const ONE_REVISION_COUNTER = "the store counts for all clusters, and its history reaches back to revision 1";
const ONE_CHECK = "a virtual cluster is healthy where it answers: it has no checks of its own to name";
const ADMIN_BY_ROLE =
  "the administrator has a ClusterRole inside, not the group system:masters, and the review says so";

export const EMBEDDED_DEVIATIONS: { readonly [step: string]: string } = Object.fromEntries([
  ...steps("authn-01", [0, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13], NO_ANONYMOUS),
  ...steps("authn-01", [1, 15], KEY_TEXT),
  ...steps("authn-01", [5], TOKEN_ONLY),
  ...steps("disc-01", [2, 4, 12, 14, 21, 24, 27], PLAIN_TEXT),
  ...steps("health-01", [8], ONE_CHECK),
  ...steps("list-01", [14, 16], SIGNED_CONTINUE),
  ...steps("review-01", [0], PLATFORM_GROUPS),
  ...steps("review-01", [1, 17], NO_ANONYMOUS),
  ...steps("review-01", [4], ADMIN_BY_ROLE),
  ...steps("review-01", [13], FOREIGN_TOKEN),
  ...steps("routing-01", [27], CANONICAL_PATHS),
  ...steps("watch-01", [9], ONE_REVISION_COUNTER),
]);
