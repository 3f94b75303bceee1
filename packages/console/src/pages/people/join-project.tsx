// Makes a user or a team a member of a project, from the page of the user or the team.

import type { Project } from "@postern/api/project";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { nameOf, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { type Right, useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { DialogButton } from "../../components/dialogs/dialog-button.tsx";
import { DialogEnd } from "../../components/dialogs/dialog-end.tsx";
import { NameField } from "../../components/forms/name-field.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { ProjectRoleField, USUAL_ROLE } from "../projects/project-role-field.tsx";
import { nameWithTitle } from "../projects/project-title.ts";
import { findNamed } from "./find-named.ts";

type Member = { readonly kind: "User" | "Team"; readonly name: string };

export function JoinProject(member: Member) {
  const right = useMay({ verb: "update", resource: "projects" });
  if (!right.isAllowed) return null;
  return (
    <DialogButton label={t("memberships.join")}>
      {(close) => <JoinDialog {...member} right={right} onClose={close} />}
    </DialogButton>
  );
}

function JoinDialog(props: Member & { readonly right: Right; readonly onClose: () => void }) {
  const { kind, name, right, onClose } = props;
  const { client } = useApi();
  const [project, setProject] = useState("");
  const [role, setRole] = useState(USUAL_ROLE);
  const { items } = useLive<Project>(PROJECTS);
  const found = findNamed(items, project);
  const wanted = found === undefined ? "" : nameOf(found);
  const isUnknown = project.trim() !== "" && items.length > 0 && found === undefined;
  const join = useMutation({
    async mutationFn() {
      const projects = createResourceClient<Project>(client, PROJECTS);
      const { metadata, spec } = await projects.get(wanted);
      const members = (spec?.members ?? []).map((member) => ({ ...member }));
      if (members.some((member) => member.kind === kind && member.name === name && member.clusterRole === role)) return;
      // Fails with a conflict if the list was changed meanwhile.
      await projects.patch(wanted, {
        type: "merge",
        patch: {
          metadata: { resourceVersion: metadata.resourceVersion ?? null },
          spec: { members: [...members, { kind, group: settings.storageGroup, name, clusterRole: role }] },
        },
      });
    },
    onSuccess: onClose,
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (wanted !== "") join.mutate();
  };
  return (
    <Dialog isOpen title={t("memberships.join.title", { name })} onClose={onClose}>
      <form className="form" onSubmit={submit}>
        <NameField
          of={PROJECTS}
          label={t("field.project")}
          value={project}
          onChange={setProject}
          isRequired
          autoFocus
          description={
            found === undefined || wanted === project.trim()
              ? undefined
              : t("memberships.join.to", { project: nameWithTitle(found) })
          }
          error={isUnknown ? t("memberships.join.none") : undefined}
        />
        <ProjectRoleField value={role} onChange={setRole} />
        <DialogEnd right={right} error={join.error} close={t("action.cancel")} onClose={onClose}>
          <Button kind="primary" type="submit" isPending={join.isPending} isDisabled={wanted === ""}>
            {t("action.add")}
          </Button>
        </DialogEnd>
      </form>
    </Dialog>
  );
}
