// Records of the audit log as a table: who used which key on what, and the result.

import type { AuditRecord } from "@postern/apimachinery/audit/audit-record";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Badge } from "../components/badge.tsx";
import { type Column, DataTable } from "../components/data-table.tsx";
import { absoluteTime, shortTime } from "../format/ages.ts";
import { t } from "../texts/text.tsx";

/** With seconds, because users compare logs. */
function LogTime({ at }: { readonly at: string }) {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={absoluteTime(time)}>
      {shortTime(time)}
    </time>
  );
}

function KeyOf({ record: { key, keyID } }: { readonly record: AuditRecord }) {
  if (key === "") return <span className="muted">{keyID || t("audit.noKey")}</span>;
  return (
    <Link to="/keys/$name" params={{ name: key }}>
      {key}
    </Link>
  );
}

const COLUMNS: readonly Column<AuditRecord>[] = [
  {
    id: "time",
    header: t("audit.column.time"),
    width: "148px",
    from: "medium",
    sortBy: ({ time }) => time,
    cell: ({ time }) => <LogTime at={time} />,
  },
  {
    id: "key",
    header: t("audit.column.key"),
    from: "medium",
    sortBy: ({ key }) => key,
    cell: (record) => <KeyOf record={record} />,
  },
  {
    id: "user",
    header: t("audit.column.user"),
    from: "medium",
    sortBy: ({ user }) => user,
    cell: ({ user, impersonatedUser }) => (impersonatedUser === undefined ? user : `${user} → ${impersonatedUser}`),
  },
  {
    id: "request",
    header: t("audit.column.request"),
    cell: (record) => (
      <span className="two-lines">
        <span className="mono" title={`${record.verb} ${record.object}`}>
          {record.verb} {record.object}
        </span>
        <span className="muted narrow-only">
          <LogTime at={record.time} /> · <KeyOf record={record} />
        </span>
      </span>
    ),
  },
  {
    id: "cluster",
    header: t("audit.column.cluster"),
    from: "wide",
    sortBy: ({ cluster }) => cluster,
    cell: ({ cluster }) => cluster || <span className="muted">{t("audit.platform")}</span>,
  },
  {
    id: "code",
    header: t("audit.column.code"),
    width: "90px",
    sortBy: ({ code }) => code,
    cell: ({ code }) => <Badge tone={code < 400 ? "good" : code < 500 ? "warn" : "bad"}>{code}</Badge>,
  },
  {
    id: "from",
    header: t("audit.column.from"),
    from: "wide",
    sortBy: ({ sourceIP }) => sourceIP,
    cell: ({ sourceIP }) => <span className="mono">{sourceIP}</span>,
  },
];

export function AuditRecords(props: {
  readonly label: string;
  readonly records: readonly AuditRecord[];
  readonly empty: ReactNode;
}) {
  const { label, records, empty } = props;
  return (
    <DataTable
      label={label}
      columns={COLUMNS}
      rows={records}
      rowKey={({ auditID, time }) => `${auditID} ${time}`}
      sort={{ column: "time", isDescending: true }}
      empty={empty}
    />
  );
}
