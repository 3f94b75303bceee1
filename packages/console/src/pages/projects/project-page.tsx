// One project: its members and their roles, quotas, virtual clusters, trust rules and kubeconfig generators.

import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { Project, ProjectMember } from "@postern/api/project";
import type { TrustRule } from "@postern/api/trust-rule";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { createResourceClient } from "@postern/client/resource-client";
import { Link } from "@tanstack/react-router";
import { Plus, UserPlus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  inNamespace,
  KUBECONFIG_GENERATORS,
  nameOf,
  ownerName,
  PROJECTS,
  type Titled,
  TRUST_RULES,
  titleOf,
  VIRTUAL_CLUSTERS,
} from "../../api/resources.ts";
import { type LiveList, useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { Notice } from "../../components/notice.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { recordingMode } from "../../components/recording-mode.ts";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { namespaceOf } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { roleName } from "../access/role-name.ts";
import { ClusterBadge, hostName } from "../clusters/cluster-badge.tsx";
import { GeneratorBadge } from "../generators/generator-badge.tsx";
import { AddProjectMember } from "./add-project-member.tsx";
import { PhaseBadge } from "./projects-page.tsx";
import { QuotaBar } from "./quota-bar.tsx";
import { quotaUses } from "./quota-use.ts";

export const ProjectPage = objectPage<Project>(
  "project",
  () => PROJECTS,
  (project) => <ProjectView project={project} />,
);

function ProjectView({ project }: { readonly project: Project }) {
  const name = nameOf(project);
  const { spec = {}, status = {}, metadata } = project;
  return (
    <>
      <HeadWithActions
        kind="project"
        address={PROJECTS}
        object={project}
        editedAt={`/projects/${name}/edit`}
        typed={name}
        consequences={[t("project.delete.content"), t("project.delete.credentials")]}
      >
        <Link to="/new/key" search={{ project: name }} className="button plain">
          {t("key.create")}
        </Link>
      </HeadWithActions>
      {status.message !== undefined && status.message !== "" && <Notice tone="warn">{status.message}</Notice>}
      <DescriptionCard
        items={[
          [t("field.state"), <PhaseBadge key="state" phase={status.phase} />],
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.namespace"), <code key="namespace">{namespaceOf(name)}</code>],
          [t("field.owner"), ownerName(spec.owner) || "–"],
          [
            t("project.fact.clusters"),
            spec.allowedClusters?.map(({ name: host = "" }) => hostName(host)).join(", ") || t("project.builtInOnly"),
          ],
          recordingMode(spec.sessionRecording),
          [t("field.created"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <Quotas project={project} />
      <Members project={project} />
      <Clusters name={name} />
      <Rules name={name} />
      <Generators name={name} />
    </>
  );
}

function Quotas({ project }: { readonly project: Project }) {
  const uses = quotaUses(project);
  if (uses.length === 0) return null;
  return (
    <Section title={t("project.quotas")} lead={t("quota.lead")}>
      <ul className="lines card">
        {uses.map((use) => (
          <li key={use.resource}>
            <QuotaBar use={use} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Members({ project }: { readonly project: Project }) {
  const name = nameOf(project);
  const { client } = useApi();
  const right = useMay({ verb: "update", resource: "projects", name });
  const [asked, setAsked] = useState<ProjectMember | "add">();
  const members = project.spec?.members ?? [];
  const projects = createResourceClient<Project>(client, PROJECTS);
  /** Fails with a conflict if the list was changed since it was shown. */
  const save = (changed: readonly ProjectMember[]) =>
    projects.patch(name, {
      type: "merge",
      patch: {
        metadata: { resourceVersion: project.metadata.resourceVersion ?? null },
        spec: { members: changed.map((member) => ({ ...member })) },
      },
    });
  const close = (): void => setAsked(undefined);
  return (
    <Section
      title={t("field.members")}
      lead={t("project.members.lead")}
      actions={
        right.isAllowed ? (
          <Button onPress={() => setAsked("add")}>
            <UserPlus aria-hidden="true" />
            {t("project.members.add")}
          </Button>
        ) : undefined
      }
    >
      <WhyNot right={right} />
      <LongList
        items={members}
        none={t("project.members.none")}
        textOf={({ name: member, clusterRole }) => `${member} ${clusterRole}`}
      >
        {(member) => (
          <li key={`${member.kind} ${member.name} ${member.clusterRole}`}>
            <span className="two-lines">
              <Link to={member.kind === "Team" ? "/teams/$name" : "/users/$name"} params={{ name: member.name ?? "" }}>
                {member.name}
              </Link>
              <span className="muted">
                {member.kind === "Team" ? t("owner.team") : t("owner.user")}
                {" · "}
                {roleName(member.clusterRole ?? "")}
              </span>
            </span>
            {right.isAllowed && (
              <Button
                kind="danger"
                onPress={() => setAsked(member)}
                aria-label={t("project.members.remove.of", { name: member.name ?? "" })}
              >
                {t("action.remove")}
              </Button>
            )}
          </li>
        )}
      </LongList>
      {asked === "add" && (
        <AddProjectMember members={members} onClose={close} onAdd={(member) => save([...members, member])} />
      )}
      <Confirm
        isOpen={asked !== undefined && asked !== "add"}
        onClose={close}
        title={t("project.members.remove.title", {
          name: asked !== undefined && asked !== "add" ? (asked.name ?? "") : "",
        })}
        action={t("action.remove")}
        isDangerous
        consequences={[
          t("project.members.remove.rights"),
          t("project.members.remove.open"),
          t("project.members.remove.keys"),
        ]}
        onConfirm={() => save(members.filter((member) => member !== asked))}
      />
    </Section>
  );
}

function Clusters({ name }: { readonly name: string }) {
  const list = useLive<VirtualClusterInstance>(inNamespace(VIRTUAL_CLUSTERS, namespaceOf(name)));
  return (
    <Objects
      project={name}
      list={list}
      title={t("clusters.title")}
      none={t("project.noClusters")}
      resource="virtualclusterinstances"
      form="/new/virtual-cluster"
      formLabel={t("cluster.new")}
      view="/clusters/$project/$name"
      note={(cluster) => <ClusterBadge cluster={cluster} />}
    />
  );
}

function Rules({ name }: { readonly name: string }) {
  const namespace = namespaceOf(name);
  const right = useMay({ verb: "list", resource: "trustrules", namespace });
  const list = useLive<TrustRule>(inNamespace(TRUST_RULES, namespace), { isWanted: right.isAllowed });
  if (!right.isAllowed) return null;
  return (
    <Objects
      project={name}
      list={list}
      title={t("trust.title")}
      lead={t("project.trust.lead")}
      none={t("project.noTrust")}
      resource="trustrules"
      form="/new/trust-rule"
      formLabel={t("trust.new")}
      view="/trust/$project/$name"
      note={({ spec }) => <span className="muted">{spec.issuer.preset ?? spec.issuer.url}</span>}
    />
  );
}

function Generators({ name }: { readonly name: string }) {
  const namespace = namespaceOf(name);
  const right = useMay({ verb: "list", resource: "kubeconfiggenerators", namespace });
  const list = useLive<KubeconfigGenerator>(inNamespace(KUBECONFIG_GENERATORS, namespace), {
    isWanted: right.isAllowed,
  });
  if (!right.isAllowed) return null;
  return (
    <Objects
      project={name}
      list={list}
      title={t("generators.title")}
      lead={t("project.generators.lead")}
      none={t("project.noGenerators")}
      resource="kubeconfiggenerators"
      form="/new/kubeconfig-generator"
      formLabel={t("generator.new")}
      view="/kubeconfig-generators/$project/$name"
      note={({ status }) => <GeneratorBadge conditions={status?.conditions} />}
    />
  );
}

/** The objects of one kind in the project. `note`: after the title of an object. */
function Objects<T extends Titled>(props: {
  readonly project: string;
  readonly list: LiveList<T>;
  readonly title: string;
  readonly lead?: string;
  readonly none: string;
  readonly resource: string;
  readonly form: "/new/virtual-cluster" | "/new/trust-rule" | "/new/kubeconfig-generator";
  readonly formLabel: string;
  readonly view: "/clusters/$project/$name" | "/trust/$project/$name" | "/kubeconfig-generators/$project/$name";
  readonly note: (object: T) => ReactNode;
}) {
  const { project, list, title, lead, none, resource, form, formLabel, view, note } = props;
  const { items, isLoading, error } = list;
  const right = useMay({ verb: "create", resource, namespace: namespaceOf(project) });
  return (
    <Section
      title={title}
      lead={lead}
      actions={
        right.isAllowed && (
          <Link to={form} search={{ project }} className="button plain">
            <Plus aria-hidden="true" />
            {formLabel}
          </Link>
        )
      }
    >
      {error !== null ? (
        <p className="muted">{error.message}</p>
      ) : (
        <LongList
          items={items}
          isLoading={isLoading}
          none={none}
          textOf={(object) => `${object.spec?.displayName ?? ""} ${nameOf(object)}`}
        >
          {(object) => (
            <li key={object.metadata.uid}>
              <Link to={view} params={{ project, name: nameOf(object) }}>
                {titleOf(object)}
              </Link>
              {note(object)}
            </li>
          )}
        </LongList>
      )}
    </Section>
  );
}
