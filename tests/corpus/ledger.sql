PRAGMA application_id = 1416131108;
BEGIN TRANSACTION;
CREATE TABLE thrifty_case (
    case_id TEXT PRIMARY KEY, subject TEXT, model TEXT NOT NULL, known TEXT, cap REAL,
    context_names TEXT, started_at REAL NOT NULL, ended_at REAL, stopped TEXT, reason TEXT,
    answer TEXT, skipped TEXT, bill REAL, spent REAL, unit TEXT
) WITHOUT ROWID;
INSERT INTO "thrifty_case" VALUES('1678bdd1f890d74871dca9b952274929f625aa27ba7de70943f8b83d8bf21f3c','18cc84dc9b39a5bfc5d81afce0d626667b0f70735317c34b4af64e8784ec650a','b25444bc2281971c4819c05cf40fe91d80928d587376c1815dc37df6c714edd7','[]',5.0,'[]',1700000000.0,1700000000.0,'cap','cap of CAD 5.00 reached','1','[]',1.0,1.0,'CAD');
INSERT INTO "thrifty_case" VALUES('b22f1cb653956f0984c2b9b63906dda0c27f415d45ca59c523462d6012d6935f',NULL,'b25444bc2281971c4819c05cf40fe91d80928d587376c1815dc37df6c714edd7','[]',NULL,NULL,1700000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "thrifty_case" VALUES('be2f863778ae6bb2a3d0eae3aeda72b88d90f8a8241eeac49516c6d01a1063fc','fac379c6708110897b4accba9437f8c7e7c942c3bb2683d8ee4255d51bfca685','b25444bc2281971c4819c05cf40fe91d80928d587376c1815dc37df6c714edd7','[]',NULL,'[]',1700000000.0,1700000000.0,'complete','complete: nothing was left to ask','1','[]',29.18,29.18,'CAD');
CREATE TABLE thrifty_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "thrifty_meta" VALUES('key_check','0e5fd219b54ab0fff66988b175b200778118c6f18be94726a033a7aa736b6ee2');
INSERT INTO "thrifty_meta" VALUES('version','1');
CREATE TABLE thrifty_purchase (
    case_id TEXT NOT NULL, item TEXT NOT NULL, owner TEXT NOT NULL, epoch INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('intent', 'settled', 'assumed', 'void')),
    quoted REAL NOT NULL, intent_at REAL NOT NULL, expires_at REAL NOT NULL, subject TEXT,
    paid REAL, outcome TEXT, delivered TEXT, settled_at REAL, PRIMARY KEY (case_id, item)
) WITHOUT ROWID;
INSERT INTO "thrifty_purchase" VALUES('1678bdd1f890d74871dca9b952274929f625aa27ba7de70943f8b83d8bf21f3c','register/size','host:1:owner:2',0,'settled',1.0,1700000000.0,1700000045.0,'18cc84dc9b39a5bfc5d81afce0d626667b0f70735317c34b4af64e8784ec650a',1.0,'delivered','[["size", 0.5]]',1700000000.0);
INSERT INTO "thrifty_purchase" VALUES('b22f1cb653956f0984c2b9b63906dda0c27f415d45ca59c523462d6012d6935f','lab','host:1:owner:3',0,'intent',8.0,1700000000.0,1700000060.0,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "thrifty_purchase" VALUES('be2f863778ae6bb2a3d0eae3aeda72b88d90f8a8241eeac49516c6d01a1063fc','lab','host:1:owner:0',0,'settled',8.0,1700000000.0,1700000045.0,'fac379c6708110897b4accba9437f8c7e7c942c3bb2683d8ee4255d51bfca685',8.0,'delivered','[["weight", 1.0], ["count", 2]]',1700000000.0);
INSERT INTO "thrifty_purchase" VALUES('be2f863778ae6bb2a3d0eae3aeda72b88d90f8a8241eeac49516c6d01a1063fc','register/scan','host:1:owner:1',0,'settled',20.0,1700000000.0,1700000045.0,'fac379c6708110897b4accba9437f8c7e7c942c3bb2683d8ee4255d51bfca685',20.0,'delivered','[["scan", 0.1]]',1700000000.0);
INSERT INTO "thrifty_purchase" VALUES('be2f863778ae6bb2a3d0eae3aeda72b88d90f8a8241eeac49516c6d01a1063fc','register/size','host:1:owner:0',0,'settled',1.0,1700000000.0,1700000045.0,'fac379c6708110897b4accba9437f8c7e7c942c3bb2683d8ee4255d51bfca685',1.0,'delivered','[["size", 0.5]]',1700000000.0);
CREATE TABLE thrifty_state (name TEXT PRIMARY KEY, version INTEGER NOT NULL, body TEXT NOT NULL)
    WITHOUT ROWID;
CREATE INDEX thrifty_purchase_of_subject ON thrifty_purchase (subject, settled_at)
    WHERE subject IS NOT NULL;
CREATE INDEX thrifty_purchase_open ON thrifty_purchase (intent_at) WHERE state = 'intent';
CREATE INDEX thrifty_purchase_begun ON thrifty_purchase (intent_at);
CREATE INDEX thrifty_case_started ON thrifty_case (started_at);
CREATE INDEX thrifty_case_open ON thrifty_case (started_at) WHERE ended_at IS NULL;
COMMIT;
