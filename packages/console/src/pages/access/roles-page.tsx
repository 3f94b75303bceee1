// ClusterRoles: what users, groups and members of projects may do.

import { useMemo, useState } from "react";
import { CLUSTER_ROLES, type ClusterRole, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Badge } from "../../components/badge.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox } from "../../components/forms/fields.tsx";
import { NewObjectLink } from "../../components/forms/new-object-link.tsx";
import type { Column } from "../../components/tables/data-table.tsx";
import { ListPage } from "../../components/tables/list-page.tsx";
import { TitleCell } from "../../components/tables/title-cell.tsx";
import { useListSearch } from "../../components/tables/use-list-search.tsx";
import { counted, t } from "../../texts/text.tsx";
import { isBuiltInRole, roleName } from "./role-name.ts";
import { roleSummary } from "./role-summary.ts";

const isOfSystem = (role: ClusterRole): boolean => nameOf(role).startsWith("system:");

const isBuiltIn = (role: ClusterRole): boolean => isBuiltInRole(nameOf(role));

const COLUMNS: readonly Column<ClusterRole>[] = [
  {
    id: "name",
    header: t("field.name"),
    sortBy: (role) => roleName(nameOf(role)).toLowerCase(),
    text: (role) => roleName(nameOf(role)),
    cell: (role) => <TitleCell to={`/roles/${nameOf(role)}`} title={roleName(nameOf(role))} name={nameOf(role)} />,
  },
  {
    id: "kind",
    header: t("field.kind"),
    width: "110px",
    sortBy: (role) => (isBuiltIn(role) ? 0 : 1),
    text: (role) => (isBuiltIn(role) ? t("role.builtIn") : ""),
    cell: (role) => isBuiltIn(role) && <Badge tone="muted">{t("role.builtIn")}</Badge>,
  },
  {
    id: "allows",
    header: t("role.rules.title"),
    from: "medium",
    text: roleSummary,
    cell: (role) => <span title={roleSummary(role)}>{roleSummary(role)}</span>,
  },
];

const searchedIn = (role: ClusterRole): string => `${nameOf(role)} ${roleName(nameOf(role))} ${roleSummary(role)}`;

export function RolesPage() {
  const list = useLive<ClusterRole>(CLUSTER_ROLES);
  const { items } = list;
  const [hasSystem, setSystem] = useState(false);
  const wanted = useMemo(() => items.filter((role) => hasSystem || !isOfSystem(role)), [items, hasSystem]);
  const { shown, field } = useListSearch(wanted, t("roles.search"), searchedIn);
  return (
    <ListPage
      title={t("roles.title")}
      lead={t("roles.lead")}
      actions={
        <NewObjectLink to="/new/role" group="rbac.authorization.k8s.io" resource="clusterroles" label={t("role.new")} />
      }
      list={list}
      columns={COLUMNS}
      rows={shown}
      empty={<EmptyState title={t("roles.empty.title")}>{t("roles.empty.text")}</EmptyState>}
      count={counted("roles.count", shown.length)}
      filters={
        <>
          {field}
          <Checkbox isSelected={hasSystem} onChange={setSystem}>
            {t("roles.system")}
          </Checkbox>
        </>
      }
    />
  );
}
