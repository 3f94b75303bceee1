// Holders of a ClusterRole on the whole platform and in projects. Grants it to users and teams, and revokes it.

import type { Project } from "@postern/api/project";
import type { User } from "@postern/api/user";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type Api, useApi } from "../../api/api-context.tsx";
import { CLUSTER_ROLE_BINDINGS, type ClusterRoleBinding, nameOf, PROJECTS, TEAMS, USERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { AddMember, type MemberKind } from "../../components/dialogs/add-member.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { nameWithTitle } from "../projects/project-title.ts";

const RBAC = "rbac.authorization.k8s.io";

type Subject = NonNullable<ClusterRoleBinding["subjects"]>[number];
type Holder = { readonly who: string; readonly binding?: ClusterRoleBinding; readonly project?: Project };

const nameOfSubject = ({ kind, name, namespace }: Subject): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;

export function RoleHolders({ name }: { readonly name: string }) {
  const api = useApi();
  const right = useMay({ verb: "list", group: RBAC, resource: "clusterrolebindings" });
  const mayGive = useMay({ verb: "create", group: RBAC, resource: "clusterrolebindings" });
  const mayTake = useMay({ verb: "delete", group: RBAC, resource: "clusterrolebindings" });
  const bindings = useLive<ClusterRoleBinding>(CLUSTER_ROLE_BINDINGS, { isWanted: right.isAllowed });
  const projects = useLive<Project>(PROJECTS);
  const [asked, setAsked] = useState<Holder | "give">();
  const close = (): void => setAsked(undefined);
  const holders: readonly Holder[] = [
    ...bindings.items
      .filter(({ roleRef }) => roleRef?.name === name)
      .flatMap((binding) => (binding.subjects ?? []).map((subject) => ({ who: nameOfSubject(subject), binding }))),
    ...projects.items.flatMap((project) =>
      (project.spec?.members ?? [])
        .filter(({ clusterRole }) => clusterRole === name)
        .map((member) => ({ who: `${member.kind} ${member.name}`, project })),
    ),
  ];
  return (
    <Section
      title={t("role.holders.title")}
      lead={t("role.holders.lead")}
      actions={mayGive.isAllowed && <Button onPress={() => setAsked("give")}>{t("role.give")}</Button>}
    >
      <WhyNot right={right} />
      <LongList
        items={holders}
        none={t("list.noneVisible")}
        textOf={({ who, project }) => `${who} ${project === undefined ? "" : nameWithTitle(project)}`}
      >
        {(holder) => (
          <li key={`${holder.who} ${holder.binding?.metadata.uid ?? (holder.project && nameOf(holder.project))}`}>
            <span className="two-lines">
              <span>{holder.who}</span>
              <span className="muted">
                {holder.project === undefined ? (
                  t("trust.everywhere")
                ) : (
                  <Link to="/projects/$name" params={{ name: nameOf(holder.project) }}>
                    {t("place.project", { name: nameWithTitle(holder.project) })}
                  </Link>
                )}
              </span>
            </span>
            {holder.binding !== undefined && mayTake.isAllowed && (
              <Button
                kind="danger"
                onPress={() => setAsked(holder)}
                aria-label={t("project.members.remove.of", { name: holder.who })}
              >
                {t("action.remove")}
              </Button>
            )}
          </li>
        )}
      </LongList>
      {asked === "give" && (
        <AddMember
          title={t("role.give.title", { name })}
          kinds={["User", "Team"]}
          isMember={() => false}
          onAdd={(kind, member) => give(api, name, kind, member)}
          onClose={close}
        >
          <p className="hint">{t("role.give.hint")}</p>
        </AddMember>
      )}
      <Confirm
        isOpen={asked !== undefined && asked !== "give"}
        onClose={close}
        title={t("project.members.remove.title", { name: typeof asked === "object" ? asked.who : "" })}
        action={t("action.remove")}
        isDangerous
        consequences={[t("role.take.rights"), t("project.members.remove.open")]}
        onConfirm={async () => {
          if (typeof asked === "object" && asked.binding !== undefined) await take(api, asked.binding, asked.who);
        }}
      />
    </Section>
  );
}

/** Fails if the user or team does not exist: a binding would not report that. */
async function give({ client }: Pick<Api, "client">, role: string, kind: MemberKind, member: string): Promise<void> {
  const subject: JsonObject =
    kind === "User"
      ? {
          kind,
          apiGroup: RBAC,
          name: (await createResourceClient<User>(client, USERS).get(member)).spec?.subject || member,
        }
      : { kind: "Group", apiGroup: RBAC, name: groupOf(nameOf(await createResourceClient(client, TEAMS).get(member))) };
  await createResourceClient(client, CLUSTER_ROLE_BINDINGS).create(
    {
      apiVersion: `${RBAC}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { generateName: `${role}-` },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: role },
      subjects: [subject],
    },
    { fieldManager: "console" },
  );
}

/** The group of a team's members. */
const groupOf = (team: string): string => `${settings.name}:team:${team}`;

/** A binding without subjects is deleted. */
async function take({ client }: Pick<Api, "client">, binding: ClusterRoleBinding, who: string): Promise<void> {
  const bindings = createResourceClient<ClusterRoleBinding>(client, CLUSTER_ROLE_BINDINGS);
  const { uid, resourceVersion } = binding.metadata;
  const left = (binding.subjects ?? []).filter((subject) => nameOfSubject(subject) !== who);
  if (left.length === 0) return bindings.delete(nameOf(binding), uid === undefined ? {} : { preconditions: { uid } });
  const subjects = left.map((subject): JsonObject => ({ ...subject }));
  await bindings.patch(nameOf(binding), {
    type: "merge",
    patch: { metadata: { resourceVersion: resourceVersion ?? null }, subjects },
  });
}
