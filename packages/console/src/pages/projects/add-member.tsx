// Adds a user or a team to a project, with the ClusterRole that it gets there.

import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { CLUSTER_ROLES, type ClusterRole, type Member, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Dialog } from "../../components/dialog.tsx";
import { SelectField, TextField } from "../../components/fields.tsx";
import { Button, ErrorNotice } from "../../components/ui.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { builtInRole, roleName } from "../rights/role-name.ts";

const ROLES = ["project-user", "project-viewer", "project-admin"];

export function AddMember(props: {
  readonly members: readonly Member[];
  readonly onAdd: (member: Member) => Promise<unknown>;
  readonly onClose: () => void;
}) {
  const { members, onAdd, onClose } = props;
  const [kind, setKind] = useState<"User" | "Team">("User");
  const [name, setName] = useState("");
  const roles = useRoles();
  const [role, setRole] = useState(roles[0] ?? "");
  const work = useMutation({
    mutationFn: () => onAdd({ kind, group: settings.storageGroup, name: name.trim(), clusterRole: role }),
    onSuccess: onClose,
  });
  const isMember = members.some(
    (member) => member.kind === kind && member.name === name && member.clusterRole === role,
  );
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (name.trim() !== "" && !isMember) work.mutate();
  };
  return (
    <Dialog isOpen title={t("project.members.add")} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <SelectField
          label={t("member.kind")}
          value={kind}
          choices={[
            { id: "User", label: t("member.kind.User") },
            { id: "Team", label: t("member.kind.Team") },
          ]}
          onChange={setKind}
        />
        <TextField
          label={t("member.name")}
          value={name}
          onChange={setName}
          isRequired
          autoFocus
          autoComplete="off"
          description={t("member.name.hint")}
          error={isMember ? t("member.already") : undefined}
        />
        <SelectField
          label={t("member.role")}
          value={role}
          choices={roles.map((id) => ({ id, label: roleName(id) }))}
          onChange={setRole}
          description={t("member.role.hint")}
        />
        {work.isError && <ErrorNotice error={work.error} />}
        <footer className="dialog-actions">
          <Button onPress={onClose}>{t("action.cancel")}</Button>
          <Button kind="primary" type="submit" isPending={work.isPending} isDisabled={name.trim() === "" || isMember}>
            {t("action.add")}
          </Button>
        </footer>
      </form>
    </Dialog>
  );
}

/** ClusterRoles for projects; those of the platform alone where the person may not list them. */
function useRoles(): readonly string[] {
  const own = ROLES.map(builtInRole);
  const right = useMay({ verb: "list", group: "rbac.authorization.k8s.io", resource: "clusterroles" });
  const { items } = useLive<ClusterRole>(CLUSTER_ROLES, { isWanted: right.isAllowed });
  const others = items.map(nameOf).filter((name) => !own.includes(name) && !name.startsWith("system:"));
  return [...own, ...others.sort()];
}
