// Access keys as a list on the page of their owner or trust rule.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { Link } from "@tanstack/react-router";
import { nameOf, titleOf } from "../../api/resources.ts";
import type { LiveList } from "../../api/use-live.ts";
import { Badge } from "../../components/badge.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../texts/text.tsx";
import { KeyStateBadge } from "./key-state-badge.tsx";

/** `keys`: the keys of `list` to show; `none`: the text without keys; `noteOf`: a note for one key. */
export function KeyList(props: {
  readonly list: LiveList<unknown>;
  readonly keys: readonly OwnedAccessKey[];
  readonly none: string;
  readonly noteOf?: (key: OwnedAccessKey) => string | undefined;
}) {
  const { list, keys, none, noteOf } = props;
  if (list.error !== null) return <p className="muted">{list.error.message}</p>;
  return (
    <LongList
      items={keys}
      none={none}
      isLoading={list.isLoading}
      textOf={(key) => `${key.spec?.displayName ?? ""} ${nameOf(key)}`}
    >
      {(key) => (
        <li key={key.metadata.uid}>
          <span className="two-lines">
            <Link to="/keys/$name" params={{ name: nameOf(key) }}>
              {titleOf(key)}
            </Link>
            {noteOf !== undefined && <span className="muted mono">{noteOf(key)}</span>}
            <Times accessKey={key} />
          </span>
          <span className="holders">
            {key.status?.expirationTimestamp == null && <Badge tone="warn">{t("key.permanent")}</Badge>}
            <KeyStateBadge accessKey={key} />
          </span>
        </li>
      )}
    </LongList>
  );
}

/** Whether the key is still needed, and when it ends. */
function Times({ accessKey: { status = {} } }: { readonly accessKey: OwnedAccessKey }) {
  const { lastActivity, expirationTimestamp } = status;
  return (
    <span className="muted">
      {lastActivity != null && `${t("time.used")} `}
      <Time at={lastActivity} otherwise={t("key.neverUsed")} />
      {expirationTimestamp != null && (
        <>
          {` · ${t("time.expires")} `}
          <Time at={expirationTimestamp} otherwise="" />
        </>
      )}
    </span>
  );
}
