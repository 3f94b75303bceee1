// The parts of a record of the audit log, each with a link to what it names.

import { type AuditRecord, keyOf } from "@postern/apimachinery/audit/audit-record";
import { Link } from "@tanstack/react-router";
import { absoluteTime, shortTime } from "../../format/ages.ts";
import { t } from "../../texts/text.tsx";
import { isPerson, placeOf } from "./record-words.ts";

/** With seconds, because users compare logs. */
export function LogTime({ at }: { readonly at: string }) {
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={absoluteTime(time)}>
      {shortTime(time)}
    </time>
  );
}

export function KeyOf({ record }: { readonly record: AuditRecord }) {
  const { key } = record;
  if (key === "") return <span className="muted">{keyOf(record) || t("audit.noKey")}</span>;
  return (
    <Link to="/keys/$name" params={{ name: key }}>
      {key}
    </Link>
  );
}

export function UserOf({ user }: { readonly user: string }) {
  if (user === "") return <span className="muted">{t("audit.noUser")}</span>;
  if (!isPerson(user)) return <span>{user}</span>;
  return (
    <Link to="/users/$name" params={{ name: user }}>
      {user}
    </Link>
  );
}

export function PlaceOf({ cluster }: { readonly cluster: string }) {
  if (cluster === "") return <span className="muted">{t("audit.platform")}</span>;
  const place = placeOf(cluster);
  return place === undefined ? <span>{cluster}</span> : <Link to={place.to}>{place.title}</Link>;
}
