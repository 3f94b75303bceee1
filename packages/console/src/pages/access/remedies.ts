// The ways to allow a user a request that the server refuses: another role in the project, a membership, or a role binding.

import "./access-texts.ts";
import type { Project } from "@postern/api/project";
import type { User } from "@postern/api/user";
import { type ClusterRole, nameOf } from "../../api/resources.ts";
import { named, t } from "../../texts/text.tsx";
import { roleName } from "./role-name.ts";
import { projectRoleFor, type WantedRequest } from "./role-permits.ts";

type Known = {
  /** The members of the project. */
  readonly members: NonNullable<NonNullable<Project["spec"]>["members"]>;
  /** Built-in roles for members of projects. */
  readonly roles: readonly ClusterRole[];
};

/** Sentences. `project`: empty for a request outside projects. */
export function remediesFor(
  user: User,
  project: string,
  wanted: WantedRequest,
  { members, roles }: Known,
): readonly string[] {
  const name = nameOf(user);
  const teams = user.status?.teams ?? [];
  const binding = t("access.remedy.binding", { user: name });
  const enough = projectRoleFor(roles, wanted);
  if (project === "" || (enough === undefined && roles.length > 0)) return [binding];
  const had = members.filter((each) => (each.kind === "Team" ? teams.includes(each.name) : each.name === name));
  if (enough === undefined) {
    const inProject = t(had.length === 0 ? "access.remedy.member" : "access.remedy.another", { user: name, project });
    return [inProject, t("access.remedy.team", { project }), binding];
  }
  const role = roleName(enough);
  if (had.length === 0)
    return [
      t("access.remedy.memberWith", { user: name, project, role }),
      t("access.remedy.team", { project }),
      binding,
    ];
  const { verb, resource, subresource = "" } = wanted;
  const what = subresource === "" ? named("kinds", resource) : `${resource}/${subresource}`;
  const roleWords = had.map(({ kind, name: member, clusterRole }) => {
    const words = roleName(clusterRole);
    return kind === "Team" ? t("access.remedy.through", { role: words, team: member }) : words;
  });
  return [
    t("access.remedy.role", { had: [...new Set(roleWords)].join(", "), verb, what, role }),
    t("access.remedy.change", { user: name, project, role }),
    binding,
  ];
}
