// One virtual cluster: its state, who has access, its valid credentials, its CA, and sleep.

import type { CredentialLedger } from "@postern/api/credential-ledger";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { createResourceClient } from "@postern/client/resource-client";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Users } from "lucide-react";
import { useMemo } from "react";
import { useApi } from "../../api/api-context.tsx";
import { AUDIT_PATH } from "../../api/audit-search.ts";
import { ACCESS_KEYS, inNamespace, nameOf, ownerName, PROJECTS, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive, useLiveObject } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { CredentialTree } from "../../components/credential-tree.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { useOpened } from "../../components/dialogs/use-opened.ts";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { ObjectActions } from "../../components/object-actions.tsx";
import { ObjectHead, objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { useFirst } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { namespaceOf, settings } from "../../settings.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { AuthoritySection } from "../authorities/authority-section.tsx";
import { useClusterAuthority } from "../authorities/authority-sources.ts";
import { SetKubeconfig } from "../hosts/set-kubeconfig.tsx";
import { KeyList } from "../keys/key-list.tsx";
import { ownerOf } from "../keys/key-state.ts";
import { useMoment } from "../keys/key-state-badge.tsx";
import { accessGroups, type Holder } from "./access-groups.ts";
import { ClusterBadge, isBuiltIn } from "./cluster-badge.tsx";
import { KubeconfigAgain } from "./kubeconfig-again.tsx";
import { KubeconfigDialog } from "./kubeconfig-dialog.tsx";
import { reachOf } from "./reaching-keys.ts";
import { useMayUse } from "./use-may-use.ts";

const FORCE_SLEEP = `sleepmode.${settings.domain}/force`;
const SLEEP_FOR = `sleepmode.${settings.domain}/force-duration`;

export const ClusterPage = objectPage<VirtualClusterInstance>(
  "cluster",
  (project) => inNamespace(VIRTUAL_CLUSTERS, namespaceOf(project)),
  (cluster, project) => <ClusterView cluster={cluster} project={project} />,
);

function ClusterView({ cluster, project }: { readonly cluster: VirtualClusterInstance; readonly project: string }) {
  const name = nameOf(cluster);
  const { spec = {}, status = {}, metadata } = cluster;
  return (
    <>
      <ObjectHead
        kind="cluster"
        object={cluster}
        within={project}
        actions={<ClusterActions cluster={cluster} project={project} />}
      />
      {status.message !== undefined && status.message !== "" && status.phase !== "Ready" && (
        <Notice tone={status.phase === "Failed" ? "bad" : "info"}>{status.message}</Notice>
      )}
      <DescriptionCard
        items={[
          [t("field.state"), <ClusterBadge key="state" cluster={cluster} />],
          [t("field.name"), <code key="name">{name}</code>],
          [
            t("field.project"),
            <Link key="project" to="/projects/$name" params={{ name: project }}>
              {project}
            </Link>,
          ],
          [t("field.owner"), ownerName(spec.owner) || "–"],
          [t("field.kubernetes"), status.kubernetesVersion ?? "–"],
          [
            t("cluster.fact.where"),
            spec.external === true ? (
              t("cluster.external")
            ) : isBuiltIn(cluster) ? (
              t("cluster.where.builtIn")
            ) : (
              <HostLink key="host" name={spec.clusterRef?.cluster} />
            ),
          ],
          [t("field.created"), <Time key="created" at={metadata.creationTimestamp} otherwise="" />],
        ]}
      />
      <Conditions cluster={cluster} />
      <Access cluster={cluster} project={project} />
      <Credentials cluster={cluster} />
      <ReachingKeys cluster={cluster} project={project} />
      {isBuiltIn(cluster) && <Authority cluster={cluster} />}
    </>
  );
}

function ClusterActions({ cluster, project }: { readonly cluster: VirtualClusterInstance; readonly project: string }) {
  const { client } = useApi();
  const name = nameOf(cluster);
  const { namespace = "" } = cluster.metadata;
  const right = { resource: "virtualclusterinstances", namespace, name };
  const mayUpdate = useMay({ verb: "update", ...right });
  const { opened: asked, open: setAsked, close } = useOpened<"kubeconfig" | "sleep">(["kubeconfig"]);
  const instances = createResourceClient<VirtualClusterInstance>(client, inNamespace(VIRTUAL_CLUSTERS, namespace));
  const annotate = (annotations: JsonObject) =>
    instances.patch(name, { type: "merge", patch: { metadata: { annotations } } });
  const wake = useMutation({ mutationFn: () => annotate({ [FORCE_SLEEP]: null, [SLEEP_FOR]: null }) });
  const credentials = useCredentials(cluster);
  const isExternal = cluster.spec?.external === true;
  const isAsleep = cluster.status?.phase === "Sleeping" || cluster.metadata.annotations?.[FORCE_SLEEP] === "true";
  return (
    <>
      <ObjectActions
        kind="cluster"
        primary={<KubeconfigAgain cluster={cluster} onOther={() => setAsked("kubeconfig")} />}
        address={inNamespace(VIRTUAL_CLUSTERS, namespace)}
        object={cluster}
        editedAt={`/clusters/${project}/${name}/edit`}
        typed={`${project}/${name}`}
        consequences={[
          t(isExternal ? "cluster.delete.external" : "cluster.delete.content"),
          ...(credentials.data === undefined
            ? []
            : [
                credentials.data.length === 0
                  ? t("cluster.delete.none")
                  : counted("cluster.delete.credentials", credentials.data.length),
              ]),
        ]}
      >
        {isBuiltIn(cluster) &&
          (isAsleep ? (
            <Button isPending={wake.isPending} isDisabled={!mayUpdate.isAllowed} onPress={() => wake.mutate()}>
              {t("cluster.wake")}
            </Button>
          ) : (
            <Button isDisabled={!mayUpdate.isAllowed} onPress={() => setAsked("sleep")}>
              {t("cluster.sleep")}
            </Button>
          ))}
        {isExternal && (
          <SetKubeconfig
            title={cluster.spec?.displayName || name}
            namespace={namespace}
            name={`vc-${name}`}
            field="config"
          />
        )}
        <Link to="/new/key" search={{ cluster: `${project}/${name}` }} className="button plain">
          {t("cluster.key")}
        </Link>
      </ObjectActions>
      <WhyNot right={mayUpdate} />
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

function Conditions({ cluster }: { readonly cluster: VirtualClusterInstance }) {
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

/** Members of the project, and users and teams that the virtual cluster gives access to. */
function Access({ cluster, project }: { readonly cluster: VirtualClusterInstance; readonly project: string }) {
  const { object } = useLiveObject<Project>(PROJECTS, project);
  const groups = accessGroups(cluster, object);
  const mayAudit = useMay({ verb: "get", path: AUDIT_PATH });
  return (
    <Section
      title={t("cluster.access.title")}
      lead={t("cluster.access.lead")}
      actions={
        <>
          <Link to="/access" search={{ project, name: nameOf(cluster), verb: "use" }} className="button plain">
            {t("cluster.access.check")}
          </Link>
          {mayAudit.isAllowed && (
            <Link
              to="/audit"
              search={{ cluster: `${project}/${nameOf(cluster)}`, show: "all" }}
              className="button plain"
            >
              {t("cluster.audit")}
            </Link>
          )}
        </>
      }
    >
      {groups.length === 0 && <p className="muted">{t("cluster.access.none")}</p>}
      {groups.length > 0 && (
        <ul className="lines card">
          {groups.map(({ what, holders }) => (
            <li key={what}>
              <span className="two-lines">
                <HolderNames holders={holders} />
                <span className="muted">{what}</span>
              </span>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Names in one line; more on demand. */
function HolderNames({ holders }: { readonly holders: readonly Holder[] }) {
  const { first, more } = useFirst(holders);
  return (
    <span className="holders">
      {first.map(({ isTeam, name }) =>
        // All users are no user.
        name === "*" ? (
          <span key="*">{t("cluster.access.everybody")}</span>
        ) : (
          <Link key={`${isTeam} ${name}`} to={isTeam ? "/teams/$name" : "/users/$name"} params={{ name }}>
            {isTeam && <Users aria-label={t("owner.team")} role="img" />}
            {name}
          </Link>
        ),
      )}
      {more}
    </span>
  );
}

/** Only administrators see host clusters. */
function HostLink({ name }: { readonly name: string | undefined }) {
  const right = useMay({ verb: "get", resource: "clusters", name: name ?? "" });
  if (name === undefined) return "–";
  return right.isAllowed ? (
    <Link to="/host-clusters/$name" params={{ name }}>
      {name}
    </Link>
  ) : (
    name
  );
}

function Authority({ cluster }: { readonly cluster: VirtualClusterInstance }) {
  return <AuthoritySection source={useClusterAuthority(cluster)} />;
}

/** Below its own credentials: after all of those are revoked, these still open it. */
function ReachingKeys({ cluster, project }: { readonly cluster: VirtualClusterInstance; readonly project: string }) {
  const list = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const mayUse = useMayUse(cluster, project);
  const now = useMoment();
  const name = nameOf(cluster);
  const found = useMemo(() => {
    return new Map(
      list.items.flatMap((key) => {
        const reach = reachOf(key, { project, name }, mayUse, now);
        return reach === undefined ? [] : [[key, reach] as const];
      }),
    );
  }, [list.items, mayUse, project, name, now]);
  return (
    <Section
      title={t("cluster.reach.title")}
      lead={t("cluster.reach.lead")}
      actions={
        <Link to="/keys" className="button plain">
          {t("cluster.reach.all")}
        </Link>
      }
    >
      <KeyList
        list={list}
        keys={[...found.keys()]}
        none={t("list.noneVisible")}
        noteOf={(key) => [ownerOf(key).name, named("cluster.reach.by", found.get(key) ?? "")].join(" · ")}
      />
    </Section>
  );
}

/** All valid credentials for the virtual cluster, if the user may see them. */
function useCredentials(cluster: VirtualClusterInstance) {
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
      const { status } = (await instances.getSubresource(name, "credentials", { signal })) as CredentialLedger;
      return status?.credentials ?? [];
    },
    enabled: right.isAllowed,
    refetchInterval: 30_000,
  });
  return { right, ...credentials };
}

function Credentials({ cluster }: { readonly cluster: VirtualClusterInstance }) {
  const { right, data, error } = useCredentials(cluster);
  return (
    <Section title={t("cluster.credentials.title")} lead={t("cluster.credentials.lead")}>
      <WhyNot right={right} />
      {error !== null && <ErrorNotice error={error} />}
      {data?.length === 0 && <p className="muted">{t("list.empty")}</p>}
      {data !== undefined && data.length > 0 && (
        <CredentialTree
          address={inNamespace(VIRTUAL_CLUSTERS, cluster.metadata.namespace ?? "")}
          name={nameOf(cluster)}
          credentials={data}
        />
      )}
    </Section>
  );
}
