import { StoreError } from "../store/db.ts";

/** Does something that is written down; where the database is full, what `then` makes of that. Any other failure surfaces. */
export async function whenFull<T>(act: () => Promise<T>, then: (cause: StoreError) => T | Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof StoreError) || !error.isFull) throw error;
    return then(error);
  }
}
