// All projects that the user can see.

import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { useMemo } from "react";
import { nameOf, PROJECTS, titleOf, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Badge } from "../../components/badge.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { createdColumn, ownerColumn, titleColumn } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { projectOf } from "../../settings.ts";
import { counted, t } from "../../texts/text.tsx";

import { QuotaBar } from "./quota-bar.tsx";
import { quotaUses } from "./quota-use.ts";

type Row = Project & { readonly clusters: number };

const COLUMNS: readonly Column<Row>[] = [
  titleColumn((project) => `/projects/${nameOf(project)}`),
  {
    id: "phase",
    header: t("field.state"),
    width: "120px",
    sortBy: ({ status }) => status?.phase ?? "",
    cell: ({ status }) => <PhaseBadge phase={status?.phase} />,
  },
  ownerColumn("medium"),
  {
    id: "members",
    header: t("field.members"),
    width: "110px",
    from: "medium",
    sortBy: ({ spec }) => spec?.members?.length ?? 0,
    cell: ({ spec }) => spec?.members?.length ?? 0,
  },
  {
    id: "clusters",
    header: t("projects.column.clusters"),
    width: "140px",
    from: "medium",
    sortBy: ({ clusters }) => clusters,
    cell: ({ clusters }) => clusters,
  },
  {
    id: "quota",
    header: t("projects.column.quota"),
    width: "190px",
    from: "medium",
    sortBy: (project) => quotaUses(project)[0]?.share ?? -1,
    text: (project) =>
      quotaUses(project)
        .map(({ resource, used, limit }) => `${resource} ${used ?? ""}/${limit}`)
        .join(", "),
    cell: (project) => {
      const [fullest] = quotaUses(project);
      return fullest === undefined ? (
        <span className="muted">{t("quota.none")}</span>
      ) : (
        <QuotaBar use={fullest} isShort={fullest.share !== undefined} />
      );
    },
  },
  createdColumn(),
];

export function PhaseBadge({ phase = "Pending" }: { readonly phase: string | undefined }) {
  const tone = phase === "Ready" ? "good" : phase === "Failed" ? "bad" : "info";
  return <Badge tone={tone}>{phase}</Badge>;
}

const searchedIn = (project: Row): string => `${titleOf(project)} ${nameOf(project)}`;

export function ProjectsPage() {
  const list = useLive<Project>(PROJECTS);
  const { items } = list;
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const rows = useMemo(() => {
    const counts = new Map<string, number>();
    for (const { metadata } of clusters.items) {
      const project = projectOf(metadata.namespace ?? "");
      counts.set(project, (counts.get(project) ?? 0) + 1);
    }
    return items.map((project): Row => ({ ...project, clusters: counts.get(nameOf(project)) ?? 0 }));
  }, [items, clusters.items]);
  const { shown, field } = useListSearch(rows, t("list.searchName"), searchedIn);
  return (
    <ListPage
      title={t("projects.title")}
      lead={t("projects.lead")}
      actions={<NewObjectLink to="/new/project" resource="projects" label={t("project.new")} />}
      list={list}
      columns={COLUMNS}
      rows={shown}
      empty={<EmptyState title={t("projects.empty.title")}>{t("projects.empty.text")}</EmptyState>}
      count={counted("projects.count", shown.length)}
      filters={field}
    />
  );
}
