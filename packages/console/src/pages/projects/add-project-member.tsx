// Adds a user or a team to a project, with a ClusterRole.

import type { ProjectMember } from "@postern/api/project";
import { useState } from "react";
import { AddMember } from "../../components/dialogs/add-member.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { ProjectRoleField, USUAL_ROLE } from "./project-role-field.tsx";

export function AddProjectMember(props: {
  readonly members: readonly ProjectMember[];
  readonly onAdd: (member: ProjectMember) => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const { members, onAdd, onClose } = props;
  const [role, setRole] = useState(USUAL_ROLE);
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
      <ProjectRoleField value={role} onChange={setRole} />
    </AddMember>
  );
}
