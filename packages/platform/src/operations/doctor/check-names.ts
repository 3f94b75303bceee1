// Checks for users of sign-in and of directories with names of another cluster: they were made before a kube-apiserver forwarded its requests to this
// server, and have now what is meant for that cluster's users.

import type { User } from "@postern/api/user";
import type { Configuration } from "../../foundation/config/configuration.ts";
import { isNameOfOtherCluster } from "../../foundation/kinds/claimed-names.ts";
import { type Finding, ok, warning } from "./finding.ts";

const MOST_NAMED = 5;

/** None where no other cluster forwards requests. Of users that administrators gave such a name, nothing is found: they are meant. */
export function checkNames(users: Iterable<User>, configuration: Configuration): readonly Finding[] {
  const { frontProxy, platform } = configuration;
  if (frontProxy.clientCAFile === "") return [];
  const provisionedBy = `${platform.domain}/provisioned-by`;
  const found: string[] = [];
  for (const { metadata, spec = {} } of users) {
    const { identities = [], subject = metadata.name ?? "", groups = [] } = spec;
    if (identities.length === 0 && metadata.annotations?.[provisionedBy] === undefined) continue;
    const names = [subject, ...groups, ...identities.flatMap((identity) => identity.groups ?? [])];
    if (names.some((name) => isNameOfOtherCluster(name, { frontProxy }))) found.push(metadata.name ?? "");
  }
  const { prefix } = frontProxy;
  if (found.length === 0) return [ok("names", `no user of sign-in or a directory has a name with ${prefix}`)];
  const named = found.slice(0, MOST_NAMED).join(", ");
  const more = found.length > MOST_NAMED ? ` and ${found.length - MOST_NAMED} more` : "";
  const message = `names with ${prefix} belong to the cluster that forwards requests, and users of sign-in or a directory have them: ${named}${more}`;
  return [warning("names", message, "delete these users, or change spec.subject and the groups with that prefix")];
}
