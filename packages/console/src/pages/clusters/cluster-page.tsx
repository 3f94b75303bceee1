// One virtual cluster: how it is, who may use it, which credentials for it are out there, and how it is put to sleep and woken.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import {
  type Credential,
  inNamespace,
  nameOf,
  PROJECTS,
  type Project,
  VIRTUAL_CLUSTERS,
  type VirtualCluster,
} from "../../api/resources.ts";
import { useLiveObject } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Confirm } from "../../components/confirm.tsx";
import { CredentialTree } from "../../components/credential-tree.tsx";
import { ListLink, ObjectPage } from "../../components/object-page.tsx";
import { Badge, Button, ErrorNotice, Facts, Notice, PageHead, Section, Time } from "../../components/ui.tsx";
import { namespaceOf, settings } from "../../settings.ts";
import { t } from "../../texts/text.tsx";
import { ClusterBadge } from "./cluster-badge.tsx";
import { KubeconfigDialog } from "./kubeconfig-dialog.tsx";

const FORCE_SLEEP = `sleepmode.${settings.domain}/force`;
const SLEEP_FOR = `sleepmode.${settings.domain}/force-duration`;

export function ClusterPage() {
  const { project = "", name = "" } = useParams({ strict: false });
  const address = inNamespace(VIRTUAL_CLUSTERS, namespaceOf(project));
  return (
    <ObjectPage<VirtualCluster> kind="cluster" address={address} name={name}>
      {(cluster) => <ClusterView cluster={cluster} project={project} />}
    </ObjectPage>
  );
}

function ClusterView({ cluster, project }: { readonly cluster: VirtualCluster; readonly project: string }) {
  const name = nameOf(cluster);
  const { spec = {}, status = {}, metadata } = cluster;
  return (
    <>
      <PageHead
        above={<ListLink kind="cluster" />}
        title={spec.displayName || name}
        lead={spec.description}
        actions={<ClusterActions cluster={cluster} project={project} />}
      />
      {status.message !== undefined && status.message !== "" && status.phase !== "Ready" && (
        <Notice tone={status.phase === "Failed" ? "bad" : "info"}>{status.message}</Notice>
      )}
      <div className="card">
        <Facts
          items={[
            [t("cluster.fact.state"), <ClusterBadge key="state" cluster={cluster} />],
            [t("cluster.fact.name"), <code key="name">{name}</code>],
            [t("cluster.fact.project"), project],
            [t("cluster.fact.owner"), spec.owner?.user ?? spec.owner?.team ?? "–"],
            [t("cluster.fact.version"), status.kubernetesVersion ?? "–"],
            [
              t("cluster.fact.where"),
              spec.external === true ? t("cluster.external") : (spec.clusterRef?.cluster ?? "–"),
            ],
            [
              t("cluster.fact.created"),
              <Time key="created" at={metadata.creationTimestamp ?? undefined} otherwise="" />,
            ],
          ]}
        />
      </div>
      <Conditions cluster={cluster} />
      <Access cluster={cluster} project={project} />
      <Credentials cluster={cluster} />
    </>
  );
}

function ClusterActions({ cluster, project }: { readonly cluster: VirtualCluster; readonly project: string }) {
  const { client } = useApi();
  const name = nameOf(cluster);
  const { namespace = "" } = cluster.metadata;
  const right = { resource: "virtualclusterinstances", namespace, name };
  const mayUpdate = useMay({ verb: "update", ...right });
  const [asked, setAsked] = useState<"kubeconfig" | "sleep">();
  const instances = createResourceClient<VirtualCluster>(client, inNamespace(VIRTUAL_CLUSTERS, namespace));
  const annotate = (annotations: JsonObject) =>
    instances.patch(name, { type: "merge", patch: { metadata: { annotations } } });
  const wake = useMutation({ mutationFn: () => annotate({ [FORCE_SLEEP]: null, [SLEEP_FOR]: null }) });
  const isAsleep = cluster.status?.phase === "Sleeping" || cluster.metadata.annotations?.[FORCE_SLEEP] === "true";
  // Others are run by others.
  const canSleep = cluster.spec?.external !== true && cluster.spec?.clusterRef?.cluster === "embedded";
  const close = (): void => setAsked(undefined);
  return (
    <>
      {canSleep &&
        (isAsleep ? (
          <Button isPending={wake.isPending} isDisabled={!mayUpdate.isAllowed} onPress={() => wake.mutate()}>
            {t("cluster.wake")}
          </Button>
        ) : (
          <Button isDisabled={!mayUpdate.isAllowed} onPress={() => setAsked("sleep")}>
            {t("cluster.sleep")}
          </Button>
        ))}
      <Button kind="primary" onPress={() => setAsked("kubeconfig")}>
        {t("kubeconfig.get")}
      </Button>
      {wake.isError && <ErrorNotice error={wake.error} />}
      {asked === "kubeconfig" && <KubeconfigDialog cluster={cluster} onClose={close} />}
      <Confirm
        isOpen={asked === "sleep"}
        onClose={close}
        title={t("cluster.sleep.title", { name: `${project}/${name}` })}
        action={t("cluster.sleep")}
        consequences={[t("cluster.sleep.keeps"), t("cluster.sleep.wakes"), t("cluster.sleep.closes")]}
        onConfirm={() => annotate({ [FORCE_SLEEP]: "true" })}
      />
    </>
  );
}

function Conditions({ cluster }: { readonly cluster: VirtualCluster }) {
  const bad = (cluster.status?.conditions ?? []).filter(
    ({ status, reason }) => status !== "True" && reason !== "Sleeping",
  );
  if (bad.length === 0) return null;
  return (
    <Section title={t("cluster.conditions")}>
      <ul className="lines">
        {bad.map(({ type, reason, message }) => (
          <li key={type}>
            <span className="two-lines">
              <span>{type}</span>
              <span className="muted">{message}</span>
            </span>
            <Badge tone="warn">{reason ?? "Unknown"}</Badge>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Members of the project, and what the virtual cluster itself opens for others. */
function Access({ cluster, project }: { readonly cluster: VirtualCluster; readonly project: string }) {
  const { object } = useLiveObject<Project>(PROJECTS, project);
  const rows = [
    ...(cluster.spec?.owner === undefined
      ? []
      : [{ who: cluster.spec.owner.user ?? cluster.spec.owner.team ?? "", what: t("cluster.access.owner") }]),
    ...(object?.spec?.members ?? []).map(({ name = "", clusterRole = "" }) => ({
      who: name,
      what: t("cluster.access.member", { role: clusterRole }),
    })),
    ...(cluster.spec?.access ?? []).flatMap(({ users = [], teams = [], verbs = [] }) =>
      [...users, ...teams].map((who) => ({ who, what: t("cluster.access.rule", { verbs: verbs.join(", ") }) })),
    ),
    ...(cluster.spec?.extraAccessRules ?? []).flatMap(({ users = [], teams = [], clusterRole = "" }) =>
      [...users, ...teams].map((who) => ({ who, what: t("cluster.access.inside", { role: clusterRole }) })),
    ),
  ];
  return (
    <Section
      title={t("cluster.access.title")}
      lead={t("cluster.access.lead")}
      actions={
        <Link to="/access" search={{ project, name: nameOf(cluster) }} className="button plain">
          {t("cluster.access.check")}
        </Link>
      }
    >
      {rows.length === 0 ? (
        <p className="muted">{t("cluster.access.none")}</p>
      ) : (
        <ul className="lines card">
          {rows.map(({ who, what }) => (
            <li key={`${who} ${what}`}>
              <span>{who}</span>
              <span className="muted">{what}</span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function Credentials({ cluster }: { readonly cluster: VirtualCluster }) {
  const { client } = useApi();
  const name = nameOf(cluster);
  const { namespace = "" } = cluster.metadata;
  const right = useMay({
    verb: "get",
    resource: "virtualclusterinstances",
    subresource: "credentials",
    namespace,
    name,
  });
  const credentials = useQuery({
    queryKey: ["credentials", "virtualcluster", namespace, name],
    async queryFn({ signal }) {
      const instances = createResourceClient(client, inNamespace(VIRTUAL_CLUSTERS, namespace));
      const { status } = (await instances.getSubresource(name, "credentials", { signal })) as {
        readonly status?: { readonly credentials?: readonly Credential[] };
      };
      return status?.credentials ?? [];
    },
    enabled: right.isAllowed,
    refetchInterval: 30_000,
  });
  return (
    <Section title={t("cluster.credentials.title")} lead={t("cluster.credentials.lead")}>
      {right.isKnown && !right.isAllowed && <p className="muted">{right.reason || t("may.not")}</p>}
      {credentials.error !== null && <ErrorNotice error={credentials.error} />}
      {credentials.data?.length === 0 && <p className="muted">{t("cluster.credentials.none")}</p>}
      {credentials.data !== undefined && credentials.data.length > 0 && (
        <CredentialTree credentials={credentials.data} />
      )}
    </Section>
  );
}
