// Trust rules of the whole platform and of projects: which tokens are exchanged for keys.

import "./trust-texts.ts";
import type { Condition } from "@postern/api/conditions";
import type { TrustRule } from "@postern/api/trust-rule";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { CLUSTER_TRUST_RULES, nameOf, TRUST_RULES, titleOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { DocsLink } from "../../components/docs-link.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import { Loading } from "../../components/loading.tsx";
import { Notice } from "../../components/notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { LiveTable } from "../../components/tables/live-table.tsx";
import { titleColumn } from "../../components/tables/object-columns.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { projectOf } from "../../settings.ts";
import { counted, named, sentence, t } from "../../texts/text.tsx";
import { scopeSummary } from "../keys/scopes/scope-words.ts";

const placeOf = ({ metadata }: TrustRule): string =>
  metadata.namespace === undefined || metadata.namespace === "" ? "" : projectOf(metadata.namespace);

export const issuerOf = ({ spec }: TrustRule): string => named("issuer", spec.issuer.preset ?? spec.issuer.url ?? "");

/** Ready, disabled, or the reason. */
export function ReadyBadge(props: {
  readonly isDisabled: boolean;
  readonly conditions: readonly Condition[] | undefined;
}) {
  const { isDisabled, conditions = [] } = props;
  if (isDisabled) return <Badge tone="muted">{t("trust.disabled")}</Badge>;
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status === "True") return <Badge tone="good">{t("trust.ready")}</Badge>;
  if (ready === undefined) return <Badge tone="info">{t("trust.unused")}</Badge>;
  return <Badge tone="bad">{named("ready", ready.reason ?? "") || t("trust.notReady")}</Badge>;
}

/** Why an object is not ready, in the server's words, and what to do. */
export function NotReady({ condition: { reason = "", message = "" } }: { readonly condition: Condition }) {
  const remedy = named("ready.remedy", reason);
  return (
    <Notice tone="bad">
      <p>
        {sentence(message)} {remedy === reason ? "" : remedy}
      </p>
    </Notice>
  );
}

const COLUMNS: readonly Column<TrustRule>[] = [
  titleColumn((rule) => `/trust/${placeOf(rule) || "-"}/${nameOf(rule)}`),
  {
    id: "state",
    header: t("field.state"),
    width: "180px",
    cell: ({ spec, status }) => <ReadyBadge isDisabled={spec?.disabled === true} conditions={status?.conditions} />,
  },
  {
    id: "issuer",
    header: t("field.issuer"),
    from: "medium",
    sortBy: issuerOf,
    cell: issuerOf,
  },
  {
    id: "place",
    header: t("field.project"),
    from: "medium",
    sortBy: placeOf,
    text: (rule) => placeOf(rule) || t("trust.everywhere"),
    cell: (rule) => placeOf(rule) || t("trust.everywhere"),
  },
  {
    id: "user",
    header: t("trust.column.user"),
    from: "medium",
    sortBy: ({ spec }) => spec?.user ?? "",
    cell: ({ spec }) => spec?.user ?? "",
  },
  {
    id: "scope",
    header: t("field.scope"),
    from: "wide",
    text: (rule) => trustScope(rule),
    cell: (rule) => trustScope(rule),
  },
];

/** A rule of a project without a scope gives access to the whole project. */
export const trustScope = (rule: TrustRule): string =>
  rule.spec.scope === undefined && placeOf(rule) !== ""
    ? t("scope.project", { name: placeOf(rule) })
    : scopeSummary(rule.spec);

const searchedIn = (rule: TrustRule): string =>
  `${titleOf(rule)} ${nameOf(rule)} ${issuerOf(rule)} ${placeOf(rule)} ${rule.spec.user ?? ""}`;

export function TrustPage() {
  const right = useMay({ verb: "list", resource: "clustertrustrules" });
  const everywhere = useLive<TrustRule>(CLUSTER_TRUST_RULES, { isWanted: right.isAllowed });
  const mayList = useMay({ verb: "list", resource: "trustrules" });
  const inProjects = useLive<TrustRule>(TRUST_RULES, { isWanted: mayList.isAllowed });
  const rules = useMemo(() => [...everywhere.items, ...inProjects.items], [everywhere.items, inProjects.items]);
  const isLoading = inProjects.isLoading || (right.isAllowed && everywhere.isLoading);
  const { shown, field } = useListSearch(rules, t("trust.search"), searchedIn);
  return (
    <>
      <PageHead
        title={t("trust.title")}
        lead={t("trust.lead")}
        actions={<NewObjectLink to="/new/trust-rule" resource="trustrules" label={t("trust.new")} />}
      />
      {mayList.isKnown && !mayList.isAllowed && (
        <EmptyState title={t("trust.inProjects")} actions={<Link to="/projects">{t("projects.title")}</Link>}>
          {t("trust.inProjects.text")}
        </EmptyState>
      )}
      {!mayList.isKnown && <Loading />}
      {mayList.isAllowed && (
        <LiveTable
          list={{ ...inProjects, items: rules, isLoading }}
          label={t("trust.title")}
          columns={COLUMNS}
          rows={shown}
          empty={
            <EmptyState
              title={t("trust.empty.title")}
              actions={<DocsLink to="/docs/guides/ci">{t("help.examples")}</DocsLink>}
            >
              {t("trust.empty.text")}
            </EmptyState>
          }
          count={counted("trust.count", shown.length)}
          filters={field}
        />
      )}
      {mayList.isAllowed && right.isKnown && !right.isAllowed && <p className="hint">{t("trust.onlyProjects")}</p>}
    </>
  );
}
