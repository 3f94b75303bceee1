// One host cluster: whether it is connected, which projects may use it, and what runs in it.

import type { Cluster } from "@postern/api/cluster";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Link } from "@tanstack/react-router";
import { CLUSTERS, nameOf, ownerName, PROJECTS, titleOf, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Notice } from "../../components/notice.tsx";
import { HeadWithActions } from "../../components/object-actions.tsx";
import { objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { recordingMode } from "../../components/recording-mode.ts";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { projectOf } from "../../settings.ts";
import { sentence, t } from "../../texts/text.tsx";
import { ClusterBadge } from "../clusters/cluster-badge.tsx";
import { nameWithTitle } from "../projects/project-title.ts";
import { HostBadge, hostRemedy } from "./host-badge.tsx";
import { isClosedCluster } from "./host-draft.ts";
import { JoinCluster } from "./join-cluster.tsx";
import { SetKubeconfig } from "./set-kubeconfig.tsx";

export const HostPage = objectPage<Cluster>(
  "host",
  () => CLUSTERS,
  (cluster) => <HostView cluster={cluster} />,
);

function HostView({ cluster }: { readonly cluster: Cluster }) {
  const name = nameOf(cluster);
  const { spec = {}, status = {}, metadata } = cluster;
  const {
    secretNamespace = spec.managementNamespace ?? "",
    secretName = "",
    key = "config",
  } = spec.kubeConfigRef ?? {};
  const isLocal = spec.local === true;
  return (
    <>
      <HeadWithActions
        kind="host"
        address={CLUSTERS}
        object={cluster}
        editedAt={`/host-clusters/${name}/edit`}
        consequences={[t(isLocal ? "host.delete.local" : "host.delete.reach"), t("host.delete.stays")]}
      >
        {spec.networkPeer === true && <JoinCluster cluster={cluster} />}
        {!isLocal && secretName !== "" && (
          <SetKubeconfig title={spec.displayName || name} namespace={secretNamespace} name={secretName} field={key} />
        )}
      </HeadWithActions>
      <WhyNotConnected cluster={cluster} />
      <DescriptionCard
        items={[
          [t("field.state"), <HostBadge key="state" cluster={cluster} />],
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.kind"), t(isLocal ? "host.local" : "host.connected")],
          spec.networkPeer === true && [t("host.fact.agent"), agentWords(status.agent)],
          [t("field.kubernetes"), status.version || "–"],
          [t("field.owner"), ownerName(spec.owner) || "–"],
          secretName !== "" && [t("host.secret"), <code key="secret">{`${secretNamespace}/${secretName}`}</code>],
          [t("host.fact.new"), t(isClosedCluster(cluster) ? "host.closed" : "host.open")],
          recordingMode(spec.sessionRecording),
          [t("field.created"), <Time key="at" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <Projects name={name} />
      <Instances name={name} />
    </>
  );
}

/** The reason, in the server's words, and what to do. */
function WhyNotConnected({ cluster }: { readonly cluster: Cluster }) {
  const { phase, message = "" } = cluster.status ?? {};
  const remedy = hostRemedy(cluster);
  if (message === "" && remedy === undefined) return null;
  return (
    <Notice tone={phase === "Failed" ? "bad" : "info"}>
      <p>
        {message !== "" && sentence(message)} {remedy}
      </p>
    </Notice>
  );
}

/** Nothing of an agent that is not connected. */
function agentWords(agent: NonNullable<Cluster["status"]>["agent"]): string {
  if (agent === undefined) return t("host.agent.none");
  const { version = "", connections = 0, roundTripMilliseconds = 0 } = agent;
  return t("host.agent.some", {
    version,
    connections: String(connections),
    milliseconds: String(roundTripMilliseconds),
  });
}

function Projects({ name }: { readonly name: string }) {
  const { items, isLoading } = useLive<Project>(PROJECTS);
  const allowed = items.filter(({ spec }) =>
    (spec?.allowedClusters ?? []).some((cluster) => cluster.name === name || cluster.name === "*"),
  );
  return (
    <Section title={t("projects.title")} lead={t("host.projects.lead")}>
      <LongList
        items={allowed}
        none={t("host.projects.none")}
        isLoading={isLoading}
        textOf={(project) => `${project.spec?.displayName ?? ""} ${nameOf(project)}`}
      >
        {(project) => (
          <li key={project.metadata.uid}>
            <Link to="/projects/$name" params={{ name: nameOf(project) }}>
              {nameWithTitle(project)}
            </Link>
          </li>
        )}
      </LongList>
    </Section>
  );
}

function Instances({ name }: { readonly name: string }) {
  const { items, isLoading } = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const here = items.filter(({ spec }) => spec?.clusterRef?.cluster === name);
  return (
    <Section title={t("clusters.title")}>
      <LongList
        items={here}
        none={t("host.instances.none")}
        isLoading={isLoading}
        textOf={({ metadata, spec }) => `${metadata.namespace} ${metadata.name} ${spec?.displayName ?? ""}`}
      >
        {(cluster) => {
          const project = projectOf(cluster.metadata.namespace ?? "");
          return (
            <li key={cluster.metadata.uid}>
              <span className="two-lines">
                <Link to="/clusters/$project/$name" params={{ project, name: nameOf(cluster) }}>
                  {titleOf(cluster)}
                </Link>
                <span className="muted">{t("place.project", { name: project })}</span>
              </span>
              <ClusterBadge cluster={cluster} />
            </li>
          );
        }}
      </LongList>
    </Section>
  );
}
