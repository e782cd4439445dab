"""What listens with MongoDB's protocol: mongod, mongos and FerretDB."""
