// When a key was used last, kept current: a use does not change the object, so that no watch delivers it.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { createResourceClient } from "@postern/client/resource-client";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf } from "../../../api/resources.ts";
import { Time } from "../../../components/time.tsx";
import { useNow } from "../../../format/now.ts";
import { t } from "../../../texts/text.tsx";

const AGAIN_MS = 5_000;
/** The key is new, and its user waits for the first use. */
const NEW_MS = 3_600_000;

/** The newest use of a key: read again every few seconds while the page is visible. */
export function useLatestUse(accessKey: OwnedAccessKey): OwnedAccessKey["status"] {
  const { client } = useApi();
  const name = nameOf(accessKey);
  const { data } = useQuery({
    queryKey: ["last-use", accessKey.metadata.uid],
    queryFn: ({ signal }) => createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS).get(name, { signal }),
    refetchInterval: AGAIN_MS,
    retry: false,
  });
  const { lastActivity: shown } = accessKey.status ?? {};
  const { lastActivity: read } = data?.status ?? {};
  // Times of the API sort as texts.
  return read != null && (shown == null || read > shown) ? data?.status : accessKey.status;
}

/** The last use of a key in a list. */
export function LastUsed({ accessKey }: { readonly accessKey: OwnedAccessKey }) {
  const now = useNow();
  const isNew = now - Date.parse(accessKey.metadata.creationTimestamp ?? "") < NEW_MS;
  const isAwaited = isNew && accessKey.status?.lastActivity == null;
  return isAwaited ? (
    <AwaitedUse accessKey={accessKey} />
  ) : (
    <Time at={accessKey.status?.lastActivity} otherwise={t("key.neverUsed")} />
  );
}

function AwaitedUse({ accessKey }: { readonly accessKey: OwnedAccessKey }) {
  const status = useLatestUse(accessKey);
  return <Time at={status?.lastActivity} otherwise={t("key.neverUsed")} />;
}
