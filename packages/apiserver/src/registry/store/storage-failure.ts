// Converts store errors into API errors.

import {
  ApiError,
  expiredError,
  requestEntityTooLargeError,
  serviceUnavailableError,
} from "@postern/apimachinery/meta/api-error";
import {
  RevisionCompactedError,
  StorageFullError,
  StorageUnavailableError,
  ValueTooLargeError,
} from "../../storage/storage-errors.ts";

/** No Retry-After: an operator has to free space. */
const STORE_FULL =
  "the store is full and nothing was written: free space on its disk, or raise its quota; reads continue, and writes work again once there is space";
const LIST_TOO_OLD = "The resourceVersion for the provided list is too old.";

/** Never returns. Anything that is not a storage error is thrown as it is. */
export function throwStorageFailure(error: unknown): never {
  if (error instanceof ApiError) throw error;
  if (error instanceof RevisionCompactedError) throw expiredError(LIST_TOO_OLD);
  if (error instanceof ValueTooLargeError) throw requestEntityTooLargeError("the object is too large to be stored");
  if (error instanceof StorageFullError) {
    throw new ApiError({ code: 507, reason: "InsufficientStorage", message: STORE_FULL, cause: error });
  }
  if (error instanceof StorageUnavailableError) {
    throw serviceUnavailableError("the store cannot serve this request now, try again", undefined, error);
  }
  throw error;
}
