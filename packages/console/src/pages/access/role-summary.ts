// A ClusterRole in one line: the sentence of a built-in role, or its first rules.

import { type ClusterRole, nameOf, type PolicyRule } from "../../api/resources.ts";
import { counted } from "../../texts/text.tsx";
import { aboutRole } from "./role-name.ts";

const SHOWN = 2;

const ruleText = ({ verbs = [], resources = [], nonResourceURLs = [] }: PolicyRule): string =>
  `${verbs.join(", ")} ${[...resources, ...nonResourceURLs].join(", ")}`;

/** Such as `get, list projects; use virtualclusterinstances; 3 more rules`. Empty without rules. */
export function roleSummary(role: ClusterRole): string {
  const about = aboutRole(nameOf(role));
  if (about !== undefined) return about;
  const rules = role.rules ?? [];
  const more = rules.length - SHOWN;
  return [...rules.slice(0, SHOWN).map(ruleText), ...(more > 0 ? [counted("roles.moreRules", more)] : [])].join("; ");
}
