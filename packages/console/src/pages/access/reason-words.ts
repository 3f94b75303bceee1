// The reasons of the server for an answer to Check access, in words: the server names fields of objects, which the console shows under labels.

import "./access-texts.ts";
import { projectOf } from "../../settings.ts";
import { named, sentence, t } from "../../texts/text.tsx";
import { roleName } from "./role-name.ts";

const placeIn = (namespace: string, name: string): string => `${projectOf(namespace)} / ${name}`;

type Rule = readonly [form: RegExp, words: (...parts: readonly string[]) => string];

const RULES: readonly Rule[] = [
  [
    /^is in spec\.extraAccessRules\[(\d+)\] of ([^/]+)\/(\S+)$/,
    (at = "", namespace = "", name = "") =>
      t("access.reason.inside", { number: Number(at) + 1, place: placeIn(namespace, name) }),
  ],
  [
    /^is in spec\.access\[(\d+)\] of ([^/]+)\/(\S+)$/,
    (at = "", namespace = "", name = "") =>
      t("access.reason.access", { number: Number(at) + 1, place: placeIn(namespace, name) }),
  ],
  [
    /^has ClusterRole (\S+) in project (\S+)$/,
    (role = "", project = "") => t("access.reason.member", { role: roleName(role), project }),
  ],
  [
    /^owns ([^/]+)\/(\S+)$/,
    (namespace = "", name = "") => t("access.reason.owner", { place: placeIn(namespace, name) }),
  ],
  [/^may use an instance of project (\S+)$/, (project = "") => t("access.reason.guest", { project })],
  [
    /^RBAC: allowed by (?:Cluster)?RoleBinding "([^"]+)" of (?:Cluster)?Role "([^"]+)" to \S+ "([^"]+)"$/,
    (binding = "", role = "", to = "") => t("access.reason.binding", { binding, role: roleName(role), to }),
  ],
];

/** Other reasons are sentences already. */
export function reasonWords(reason: string): string {
  for (const [form, words] of RULES) {
    const found = form.exec(reason);
    if (found !== null) return words(...found.slice(1));
  }
  const known = named("access.reason.code", reason);
  return reason === "" || known !== reason ? known : sentence(reason);
}
