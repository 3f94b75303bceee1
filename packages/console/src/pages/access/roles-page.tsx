// ClusterRoles: what users, groups and members of projects may do.

import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { CLUSTER_ROLES, type ClusterRole, nameOf } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import type { Column } from "../../components/data-table.tsx";
import { EmptyState } from "../../components/empty-state.tsx";
import { Checkbox, SearchField } from "../../components/fields.tsx";
import { LiveTable } from "../../components/live-table.tsx";
import { NewObjectLink } from "../../components/new-object-link.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { counted, t } from "../../texts/text.tsx";
import { roleName } from "./role-name.ts";

const isOfSystem = (role: ClusterRole): boolean => nameOf(role).startsWith("system:");

const COLUMNS: readonly Column<ClusterRole>[] = [
  {
    id: "name",
    header: t("roles.column.name"),
    sortBy: nameOf,
    cell: (role) => (
      <span className="two-lines">
        <Link to="/roles/$name" params={{ name: nameOf(role) }} className="row-link">
          {roleName(nameOf(role))}
        </Link>
        {roleName(nameOf(role)) !== nameOf(role) && <span className="muted mono">{nameOf(role)}</span>}
      </span>
    ),
  },
  {
    id: "rules",
    header: t("roles.column.rules"),
    width: "110px",
    sortBy: ({ rules }) => rules?.length ?? 0,
    cell: ({ rules }) => rules?.length ?? 0,
  },
];

export function RolesPage() {
  const list = useLive<ClusterRole>(CLUSTER_ROLES);
  const { items } = list;
  const [text, setText] = useState("");
  const [hasSystem, setSystem] = useState(false);
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return items.filter(
      (role) =>
        (hasSystem || !isOfSystem(role)) && `${nameOf(role)} ${roleName(nameOf(role))}`.toLowerCase().includes(wanted),
    );
  }, [items, text, hasSystem]);
  return (
    <>
      <PageHead
        title={t("roles.title")}
        lead={t("roles.lead")}
        actions={
          <NewObjectLink
            to="/new/role"
            group="rbac.authorization.k8s.io"
            resource="clusterroles"
            label={t("role.new")}
          />
        }
      />
      <LiveTable
        list={list}
        label={t("roles.title")}
        columns={COLUMNS}
        rows={shown}
        rowKey={nameOf}
        sort={{ column: "name", isDescending: false }}
        empty={<EmptyState title={t("roles.empty.title")}>{t("roles.empty.text")}</EmptyState>}
        count={counted("roles.count", shown.length)}
        filters={
          <>
            <SearchField label={t("roles.search")} value={text} onChange={setText} />
            <Checkbox isSelected={hasSystem} onChange={setSystem}>
              {t("roles.system")}
            </Checkbox>
          </>
        }
      />
    </>
  );
}
