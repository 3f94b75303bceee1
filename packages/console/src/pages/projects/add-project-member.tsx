// Adds a user or a team to a project, with a ClusterRole.

import type { ProjectMember } from "@postern/api/project";
import { useState } from "react";
import { CLUSTER_ROLES, type ClusterRole, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { AddMember } from "../../components/add-member.tsx";
import { SelectField } from "../../components/fields.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { builtInRole, roleName } from "../access/role-name.ts";

const ROLES = ["project-user", "project-viewer", "project-admin"];

export function AddProjectMember(props: {
  readonly members: readonly ProjectMember[];
  readonly onAdd: (member: ProjectMember) => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const { members, onAdd, onClose } = props;
  const roles = useRoles();
  const [role, setRole] = useState(roles[0] ?? "");
  return (
    <AddMember
      title={t("project.members.add")}
      kinds={["User", "Team"]}
      isMember={(kind, name) =>
        members.some((member) => member.kind === kind && member.name === name && member.clusterRole === role)
      }
      onAdd={(kind, name) => onAdd({ kind, group: settings.storageGroup, name, clusterRole: role })}
      onClose={onClose}
    >
      <SelectField
        label={t("member.role")}
        value={role}
        choices={roles.map((id) => ({ id, label: roleName(id) }))}
        onChange={setRole}
        description={t("member.role.hint")}
      />
    </AddMember>
  );
}

/** ClusterRoles for projects; only the built-in ones if the user may not list ClusterRoles. */
function useRoles(): readonly string[] {
  const own = ROLES.map(builtInRole);
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterroles" });
  const { items } = useLive<ClusterRole>(CLUSTER_ROLES, { isWanted: right.isAllowed });
  const others = items.map(nameOf).filter((name) => !own.includes(name) && !name.startsWith("system:"));
  return [...own, ...others.sort()];
}
