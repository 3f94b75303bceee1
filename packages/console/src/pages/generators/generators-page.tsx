// Kubeconfig generators of all projects: the Secrets that they keep current.

import "./generator-texts.ts";
import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { Project } from "@postern/api/project";
import { Link } from "@tanstack/react-router";
import { KUBECONFIG_GENERATORS, nameOf, PROJECTS, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { DocsLink } from "../../components/docs-link.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import { Loading } from "../../components/loading.tsx";
import { PageHead } from "../../components/page-head.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { LiveTable } from "../../components/tables/live-table.tsx";
import { createdColumn, projectNameOf, titleInProjectColumn } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { counted, t } from "../../texts/text.tsx";
import { GeneratorBadge, readyOf } from "./generator-badge.tsx";

const currentOf = ({ status }: KubeconfigGenerator): string =>
  t("generator.currentOf", { ready: status?.ready ?? 0, all: status?.selected ?? 0 });

const COLUMNS: readonly Column<KubeconfigGenerator>[] = [
  titleInProjectColumn("/kubeconfig-generators"),
  {
    id: "state",
    header: t("field.state"),
    width: "160px",
    sortBy: ({ status }) => readyOf(status?.conditions)?.reason ?? "",
    cell: ({ status }) => <GeneratorBadge conditions={status?.conditions} />,
  },
  {
    id: "current",
    header: t("generators.column.current"),
    width: "130px",
    from: "medium",
    sortBy: ({ status }) => status?.selected ?? 0,
    text: currentOf,
    cell: currentOf,
  },
  {
    id: "format",
    header: t("field.format"),
    from: "medium",
    width: "120px",
    sortBy: ({ spec }) => spec.format ?? "Kubeconfig",
    cell: ({ spec }) => spec.format ?? "Kubeconfig",
  },
  {
    id: "secret",
    header: t("field.secret"),
    from: "wide",
    sortBy: ({ spec }) => spec.secretRef.name,
    cell: ({ spec }) => spec.secretRef.name,
  },
  {
    id: "creator",
    header: t("field.creator"),
    from: "medium",
    sortBy: ({ status }) => status?.creator?.name ?? "",
    cell: ({ status }) => status?.creator?.name ?? "",
  },
  createdColumn(),
];

const searchedIn = (generator: KubeconfigGenerator): string =>
  `${projectNameOf(generator)} ${nameOf(generator)} ${titleOf(generator)} ${generator.spec.secretRef.name} ${generator.status?.creator?.name ?? ""}`;

export function GeneratorsPage() {
  const right = useMay({ verb: "list", resource: "kubeconfiggenerators" });
  const list = useLive<KubeconfigGenerator>(KUBECONFIG_GENERATORS, { isWanted: right.isAllowed });
  const projects = useLive<Project>(PROJECTS);
  const { shown, field } = useListSearch(list.items, t("generators.search"), searchedIn);
  return (
    <>
      <PageHead
        title={t("generators.title")}
        lead={t("generators.lead")}
        actions={
          <NewObjectLink
            to="/new/kubeconfig-generator"
            resource="kubeconfiggenerators"
            label={t("generator.new")}
            projects={projects.items}
          />
        }
      />
      {!right.isKnown && <Loading />}
      {right.isKnown && !right.isAllowed && (
        <EmptyState title={t("generators.inProjects")} actions={<Link to="/projects">{t("projects.title")}</Link>}>
          {t("generators.inProjects.text")}
        </EmptyState>
      )}
      {right.isAllowed && (
        <LiveTable
          list={list}
          label={t("generators.title")}
          columns={COLUMNS}
          rows={shown}
          empty={
            <EmptyState
              title={t("generators.empty.title")}
              actions={<DocsLink to="/docs/guides/kubeconfig-generators">{t("help.examples")}</DocsLink>}
            >
              {t("generators.empty.text")}
            </EmptyState>
          }
          count={counted("generators.count", shown.length)}
          filters={field}
        />
      )}
    </>
  );
}
