// All virtual clusters that the user can see.

import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { Download } from "lucide-react";
import { useMemo, useState } from "react";
import { nameOf, PROJECTS, titleOf, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Button } from "../../components/button.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import {
  createdColumn,
  ownerColumn,
  projectNameOf,
  titleInProjectColumn,
} from "../../components/tables/object-columns.tsx";
import { type ListFilter, useListFilters } from "../../components/tables/use-list-filters.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { useNarrow } from "../../components/use-narrow.ts";
import { versionText } from "../../format/version-text.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { ClusterBadge, hostName, phaseOf } from "./cluster-badge.tsx";
import { KubeconfigDialog } from "./kubeconfig-dialog.tsx";

const searchedIn = (cluster: VirtualClusterInstance): string =>
  `${projectNameOf(cluster)} ${nameOf(cluster)} ${cluster.spec?.displayName ?? ""}`;

/** As a value of the filter; no host cluster can have this name. */
const EXTERNAL = "-";

const FILTERS: readonly ListFilter<VirtualClusterInstance>[] = [
  { id: "project", label: t("field.project"), all: t("clusters.filter.project"), valueIn: projectNameOf },
  {
    id: "state",
    label: t("field.state"),
    all: t("filter.state"),
    valueIn: phaseOf,
    textOf: (phase) => named("cluster.phase", phase),
  },
  {
    id: "where",
    label: t("cluster.fact.where"),
    all: t("clusters.filter.where"),
    valueIn: ({ spec }) => (spec?.external === true ? EXTERNAL : (spec?.clusterRef?.cluster ?? "")),
    textOf: (name) => (name === EXTERNAL ? t("cluster.external") : hostName(name)),
  },
];

export function ClustersPage() {
  const list = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const { items } = list;
  const projects = useLive<Project>(PROJECTS);
  const [chosen, setChosen] = useState<VirtualClusterInstance>();
  const isNarrow = useNarrow();
  const columns = useMemo(
    (): readonly Column<VirtualClusterInstance>[] => columnsWith(setChosen, isNarrow),
    [isNarrow],
  );
  const filtered = useListFilters(items, FILTERS);
  const { shown, field } = useListSearch(filtered.shown, t("clusters.search"), searchedIn);
  return (
    <ListPage
      title={t("clusters.title")}
      lead={t("clusters.lead")}
      actions={
        <NewObjectLink
          to="/new/virtual-cluster"
          resource="virtualclusterinstances"
          label={t("cluster.new")}
          projects={projects.items}
        />
      }
      list={list}
      columns={columns}
      rows={shown}
      empty={<EmptyState title={t("clusters.empty.title")}>{t("clusters.empty.text")}</EmptyState>}
      count={counted("clusters.count", shown.length)}
      filters={
        <>
          {field}
          {filtered.fields}
        </>
      }
    >
      {chosen !== undefined && <KubeconfigDialog cluster={chosen} onClose={() => setChosen(undefined)} />}
    </ListPage>
  );
}

const columnsWith = (
  choose: (cluster: VirtualClusterInstance) => void,
  isNarrow: boolean,
): readonly Column<VirtualClusterInstance>[] => [
  titleInProjectColumn("/clusters"),
  {
    id: "state",
    header: t("field.state"),
    width: isNarrow ? "104px" : "120px",
    sortBy: ({ status }) => status?.phase ?? "",
    cell: (cluster) => <ClusterBadge cluster={cluster} />,
  },
  ownerColumn("wide"),
  {
    id: "version",
    header: t("field.kubernetes"),
    from: "wide",
    sortBy: ({ status }) => status?.kubernetesVersion ?? "",
    text: ({ status }) => versionText(status?.kubernetesVersion ?? ""),
    cell: ({ status }) => <span title={status?.kubernetesVersion}>{versionText(status?.kubernetesVersion ?? "")}</span>,
  },
  createdColumn(),
  {
    id: "kubeconfig",
    header: t(isNarrow ? "clusters.column.kubeconfig.short" : "clusters.column.kubeconfig"),
    width: isNarrow ? "68px" : "164px",
    text: () => "",
    cell: (cluster) => (
      <span className="above">
        <Button onPress={() => choose(cluster)} aria-label={t("kubeconfig.title", { name: titleOf(cluster) })}>
          <Download aria-hidden="true" />
          {t("kubeconfig.button")}
        </Button>
      </span>
    ),
  },
];
