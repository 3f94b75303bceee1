// Host clusters: where virtual clusters and spaces run.

import type { Cluster } from "@postern/api/cluster";
import { CLUSTERS, nameOf, ownerName, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { createdColumn, titleColumn } from "../../components/tables/object-columns.tsx";
import { type ListFilter, useListFilters } from "../../components/tables/use-list-filters.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { versionText } from "../../format/version-text.ts";
import { counted, named, t } from "../../texts/text.tsx";
import { HostBadge, hostPhaseOf, hostStateText, wayOf } from "./host-badge.tsx";

const COLUMNS: readonly Column<Cluster>[] = [
  titleColumn((cluster) => `/host-clusters/${nameOf(cluster)}`),
  {
    id: "state",
    header: t("field.state"),
    width: "150px",
    sortBy: hostPhaseOf,
    text: hostStateText,
    cell: (cluster) => <HostBadge cluster={cluster} />,
  },
  {
    id: "version",
    header: t("field.kubernetes"),
    from: "medium",
    sortBy: ({ status }) => status?.version ?? "",
    text: ({ status }) => versionText(status?.version || "–"),
    cell: ({ status }) => <span title={status?.version}>{versionText(status?.version || "–")}</span>,
  },
  {
    id: "owner",
    header: t("field.owner"),
    from: "wide",
    sortBy: ({ spec }) => ownerName(spec?.owner),
    cell: ({ spec }) => ownerName(spec?.owner) || "–",
  },
  createdColumn(),
];

const searchedIn = (cluster: Cluster): string => `${titleOf(cluster)} ${nameOf(cluster)}`;

const FILTERS: readonly ListFilter<Cluster>[] = [
  {
    id: "state",
    label: t("field.state"),
    all: t("filter.state"),
    valueIn: hostPhaseOf,
    textOf: (phase) => named("host.phase", phase),
  },
  {
    id: "way",
    label: t("host.way"),
    all: t("hosts.filter.way"),
    valueIn: wayOf,
    textOf: (way) => named("hosts.way", way),
  },
];

export function HostsPage() {
  const list = useLive<Cluster>(CLUSTERS);
  const filtered = useListFilters(list.items, FILTERS);
  const { shown, field } = useListSearch(filtered.shown, t("list.searchName"), searchedIn);
  return (
    <ListPage
      title={t("hosts.title")}
      lead={t("hosts.lead")}
      actions={<NewObjectLink to="/new/host-cluster" resource="clusters" label={t("host.new")} />}
      list={list}
      columns={COLUMNS}
      rows={shown}
      count={counted("hosts.count", shown.length)}
      filters={
        <>
          {field}
          {filtered.fields}
        </>
      }
      empty={<EmptyState title={t("hosts.empty.title")}>{t("hosts.empty.text")}</EmptyState>}
    />
  );
}
